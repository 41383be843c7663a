/**
 * Something the operator asked for that cannot be done: a second server on one data directory, an e-mail address that
 * is taken. The message is one line and complete; commands print it and exit 1, without a stack.
 */
export class Refusal extends Error {
  override readonly name = 'Refusal'
}
