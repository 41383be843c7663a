/** How many calls of the API are under way, for the page to show that it works on something. */
let underWay = 0
let tell: (isWorking: boolean) => void = () => {}

/** Returns what says that the call has its answer, or will have none. */
export function beginCall(): () => void {
  underWay += 1
  if (underWay === 1) tell(true)
  return () => {
    underWay -= 1
    if (underWay === 0) tell(false)
  }
}

/** Tells of the first call that begins and of the last that ends. */
export function watchCalls(listener: (isWorking: boolean) => void): () => void {
  tell = listener
  listener(underWay > 0)
  return () => {
    tell = () => {}
  }
}
