import { invalidRequest } from '@/formats/invalid.ts'

/**
 * How many entries a page is to have, from 1 to `most`; a number that is empty says nothing.
 * @throws GatewayError `invalid_request`
 */
export function readCount(query: URLSearchParams, name: string, usual: number, most?: number): number {
  const text = query.get(name)
  if (text === null || text === '') return usual
  const count = Number(text)
  if (Number.isInteger(count) && count > 0 && count <= (most ?? count)) return count
  const range = most === undefined ? 'above 0' : `from 1 to ${most}`
  throw invalidRequest(name, `expected a whole number ${range}`)
}

/**
 * How many entries a list of OpenAI's has in a page, and in which order.
 * @throws GatewayError `invalid_request`
 */
export function readPage(query: URLSearchParams): { limit: number; order: 'asc' | 'desc' } {
  const limit = readCount(query, 'limit', 20, 100)
  const order = query.get('order') || 'desc'
  if (order === 'asc' || order === 'desc') return { limit, order }
  throw invalidRequest('order', "expected 'asc' or 'desc'")
}
