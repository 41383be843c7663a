import { afterAll } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import { type SimulatorServer, serveSimulator } from '@/simulator/serve.ts'

/** A simulator on a free port, and the official clients pointed at it with retries off. */
interface Running {
  server: SimulatorServer
  openai: OpenAI
  anthropic: Anthropic
  google: GoogleGenAI
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Response>
}

/** It is stopped after the last test of the file. */
export function runSimulator(): Running {
  const server = serveSimulator({ port: 0, hostname: '127.0.0.1', record: true })
  afterAll(() => server.stop())
  const apiKey = 'test-key-1234'
  return {
    server,
    openai: new OpenAI({ apiKey, baseURL: `${server.url}/v1`, maxRetries: 0 }),
    anthropic: new Anthropic({ apiKey, baseURL: server.url, maxRetries: 0 }),
    google: new GoogleGenAI({ apiKey, httpOptions: { baseUrl: server.url } }),
    post: (path, body, headers = {}) =>
      fetch(server.url + path, {
        method: 'POST',
        body: typeof body === 'string' ? body : JSON.stringify(body),
        headers: { authorization: `Bearer ${apiKey}`, 'anthropic-version': '2023-06-01', ...headers },
      }),
  }
}

/** The message of the error that a promise rejects with; undefined when it does not. */
export async function rejection(promise: PromiseLike<unknown>): Promise<string | undefined> {
  try {
    await promise
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** All of an async iterable. */
export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

export const WEATHER_SCHEMA = {
  type: 'object',
  properties: {
    city: { type: 'string', enum: ['Oslo', 'Rome'] },
    days: { type: 'integer', minimum: 1 },
    note: { type: 'string' },
  },
  required: ['city', 'days'],
  additionalProperties: false,
}

export const WEATHER_INPUT = { city: 'Oslo', days: 1 }
