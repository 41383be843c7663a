import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileGateway } from '#tests/support/gateway/file-gateway.ts'

/** Words that the output of each example of a page must hold, in their order. */
const PAGES = {
  chat: { outputs: ['"Hello"', 'Hello\n'] },
  responses: {
    outputs: [
      '"Hello"',
      'Hello\n',
      '"store":true',
      'What is my name?',
      'message compaction',
      'Take your time.',
      'Hello, socket.',
    ],
  },
  messages: { outputs: ['"Hello"', 'Hello\n'] },
  gemini: { outputs: ['"Hello"', 'Hello\n'] },
  embeddings: { outputs: ['"index":1', '2 vectors of 256', '2 vectors of 256'] },
  images: { outputs: ['"b64_json"', 'image_generation.completed\nedited: 1', '"bytesBase64Encoded"'] },
  audio: { outputs: ['"text"', 'Transcript of morning.mp3.'] },
  models: { outputs: ['"prices"', 'models/demo/echo'] },
  idempotency: { outputs: ['"Hello"', 'true'] },
  videos: { outputs: ['24 cat.mp4', 'completed 24', '"done":true'] },
} as const

const ROOT = new URL('../..', import.meta.url).pathname
/** Inside the tree, so that the packages are found. */
const directory = mkdtempSync(join(ROOT, 'node_modules', '.docs-'))

const example = await Bun.file(join(ROOT, 'examples/simulator.yaml')).text()
const gateway = await fileGateway({ models: example.slice(example.indexOf('\nmodels:\n') + 9) })
afterAll(() => rmSync(directory, { recursive: true, force: true }))

/** The fenced blocks of a page that are programs, in their order. */
async function programsOf(page: string): Promise<{ language: string; text: string }[]> {
  const text = await Bun.file(join(ROOT, 'docs', `${page}.md`)).text()
  return [...text.matchAll(/^```(sh|ts)\n(.*?)^```$/gms)].map(([, language = '', program = '']) => ({
    language,
    text: program,
  }))
}

async function run({ language, text }: { language: string; text: string }, index: number) {
  const file = join(directory, `example-${index}.${language}`)
  await Bun.write(file, text)
  const child = Bun.spawn(language === 'sh' ? ['bash', '-eu', file] : [process.execPath, file], {
    cwd: directory,
    env: { PATH: process.env['PATH'], TOLLGATE_URL: gateway.url, TOLLGATE_KEY: gateway.key },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [out, problems, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return { out, problems, code }
}

describe.each(Object.entries(PAGES))('docs/%s.md', (page, { outputs }) => {
  test('its examples do what they say', async () => {
    const programs = await programsOf(page)
    expect(programs).toHaveLength(outputs.length)
    for (const [index, program] of programs.entries()) {
      const { out, problems, code } = await run(program, index)
      expect({ code, problems }).toEqual({ code: 0, problems: '' })
      expect(out).toContain(outputs[index] ?? '')
    }
  }, 120_000)
})

/** The commands of a page that call with curl, each on one line. */
async function curlsOf(path: string): Promise<string[]> {
  const text = (await Bun.file(join(ROOT, path)).text()).replace(/ *\\\n\s*/g, ' ')
  return text.split('\n').filter(line => /\bcurl /.test(line))
}

test('every curl of a page that sends JSON says so, since curl would call it a form', async () => {
  const pages = ['README.md', ...readdirSync(join(ROOT, 'docs')).map(name => `docs/${name}`)]
  const sending = (await Promise.all(pages.map(curlsOf))).flat().filter(line => / -d /.test(line))
  expect(sending.length).toBeGreaterThan(5)
  for (const line of sending) expect(line).toMatch(/-H ['"]content-type: application\/json['"]/i)
})
