/**
 * Whether a regular expression of a schema is one that all of OpenAI's checks take: Python's `re` has to compile it, which
 * knows no `\p{L}`, no `(?<name>`, and no range that ends in a class (`[\w-.]`), and some models' tools know no lookaround.
 * https://github.com/BerriAI/litellm/pull/40485 https://github.com/vercel/ai/pull/21037
 */
export function isPlainPattern(pattern: string): boolean {
  return pattern.length <= MAX_LENGTH && PLAIN.test(pattern) && compiles(pattern)
}

/** Longer than any that is meant, and quickly looked through. */
const MAX_LENGTH = 2000

/** What an escape may stand for: a character (`\n`, `\x41`, `\.`), or a class of them. */
const CHARACTER = String.raw`\\(?:[fnrtv]|x[\da-fA-F]{2}|u[\da-fA-F]{4}|[^a-zA-Z0-9])`
const CLASS = String.raw`\\[dDsSwW]`

/** In brackets a `-` is the first, the last, or between two characters. */
const MEMBER = String.raw`(?:${CHARACTER}|[^\\[\]-])`
const SET = String.raw`\[(?!\^\])\^?-?(?:${MEMBER}(?:-${MEMBER})?|${CLASS})+-?\]`

const PLAIN = new RegExp(String.raw`^(?:[^\\[(]|\((?:\?:|(?!\?))|${CHARACTER}|${CLASS}|\\[bB]|${SET})*$`)

function compiles(pattern: string): boolean {
  try {
    new RegExp(pattern)
    return true
  } catch {
    return false
  }
}
