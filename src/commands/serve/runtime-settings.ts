/**
 * What Bun, JavaScriptCore and their allocator (mimalloc) read from the environment once, when the process starts. What
 * is there already is the operator's word and stays.
 */
export const RUNTIME_SETTINGS: Readonly<Record<string, string>> = {
  /** Fetch runs 256 requests at once unless it is told otherwise: there is to be room for as many as there are callers. */
  BUN_CONFIG_MAX_HTTP_REQUESTS: '65535',
  /**
   * For how many seconds fetch goes by what a name meant, also where nothing answers there any more. By itself Bun does for
   * 30, in which a private upstream that has moved is away. Names on other networks are looked up by the address guard.
   */
  BUN_CONFIG_DNS_TIME_TO_LIVE_SECONDS: '1',
  /**
   * For how many ms memory is free before the kernel gets it back: whole pages, and gaps within used ones. By itself Bun
   * waits 100 ms, and a gateway that is busy has to have all of it back at once, page fault by page fault, and a thread
   * that looks for gaps all the time: up to a tenth of a request's CPU. Two seconds save no more than half of one does,
   * and a fifth more memory is kept under load.
   */
  MIMALLOC_PURGE_DELAY: '500',
  MIMALLOC_PURGE_HOLES_MIN_INTERVAL: '500',
  /**
   * A thread of JavaScriptCore's touches memory for the heap before it is needed: worth it where memory is new, which it
   * is not while it is kept, and most of the page faults that are left otherwise.
   */
  BUN_JSC_useWarmUpMarkedBlocks: '0',
}

/** Begins the process anew, under the same id and with RUNTIME_SETTINGS in its environment, unless all of them are there. */
export function withRuntimeSettings(env: NodeJS.ProcessEnv): void {
  const isSet = Object.keys(RUNTIME_SETTINGS).every(name => env[name] !== undefined)
  if (isSet || process.execve === undefined || process.platform === 'win32') return
  const [, script = '', ...words] = process.argv
  process.execve(process.execPath, [process.execPath, ...process.execArgv, script, ...words], {
    ...RUNTIME_SETTINGS,
    ...env,
  })
}
