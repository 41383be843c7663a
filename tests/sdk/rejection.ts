/** What a promise rejects with; throws when it does not. */
export async function rejectionOf(promise: PromiseLike<unknown>): Promise<unknown> {
  let value: unknown
  try {
    value = await promise
  } catch (error) {
    return error
  }
  throw new Error(`no error but ${JSON.stringify(value)}`)
}
