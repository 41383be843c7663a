import { asNumber, asString, parseObject } from '@/json/json.ts'
import type { SecretBox } from '@/secrets/secret-box.ts'

/** What tells a compaction item of ours from a vendor's. */
const MARK = 'tollgate.c1.'

/** Summaries of conversations as callers carry them: sealed, and of use to the account alone that they were made for. */
export interface Compactions {
  /** A summary as the `encrypted_content` of a compaction item. */
  seal(accountId: number, summary: string): string
  /** The summary again; undefined for what was changed, or made for another account. */
  open(accountId: number, encrypted: string): string | undefined
}

/** Summaries sealed with the deployment's secret. */
export function compactions(box: SecretBox): Compactions {
  return {
    seal: (accountId, summary) =>
      MARK + Buffer.from(box.seal(JSON.stringify({ account: accountId, summary }))).toString('base64url'),
    open(accountId, encrypted) {
      const content = parseObject(opened(box, encrypted) ?? '')
      return asNumber(content?.['account']) === accountId ? asString(content?.['summary']) : undefined
    },
  }
}

/** Whether the `encrypted_content` of a compaction item was made here; others belong to their vendor. */
export function isOurs(encrypted: unknown): encrypted is string {
  return typeof encrypted === 'string' && encrypted.startsWith(MARK)
}

function opened(box: SecretBox, encrypted: string): string | undefined {
  try {
    return box.open(Buffer.from(encrypted.slice(MARK.length), 'base64url'))
  } catch {
    return undefined
  }
}
