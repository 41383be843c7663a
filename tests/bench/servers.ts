import { mkdirSync } from 'node:fs'
import { join } from 'node:path'

/** A server on loopback that this program started. */
export interface RunningServer {
  pid: number
  url: string
  /** Processes that it works with but did not start: databases given by address. */
  storePids: readonly number[]
  /** Where it answers when it is ready; a gateway's private listener. */
  readyUrl: string
  /** From its start until it was ready, in ms. */
  startMs: number
  stop(): Promise<void>
}

export const ROOT = new URL('../..', import.meta.url).pathname
const HERE = new URL('.', import.meta.url).pathname

/** A port that nothing listens on. Whoever asks must bind it soon. */
export function freePort(): number {
  const probe = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() })
  const { port } = probe
  probe.stop(true)
  if (port === undefined) throw new Error('the system gave no port')
  return port
}

interface StartOptions {
  command: string[]
  url: string
  /** Answers once the server is ready. */
  readyUrl: string
  env?: Record<string, string | undefined>
  directory?: string
  storePids?: readonly number[]
}

/** How long a stopped server may take before it is killed. */
const STOP_MS = 10_000

/** Starts a server and waits until it is ready. */
export async function startServer(options: StartOptions): Promise<RunningServer> {
  const startedAt = performance.now()
  const child = Bun.spawn(options.command, {
    cwd: options.directory ?? HERE,
    env: { ...process.env, ...options.env },
    stdout: 'ignore',
    stderr: 'inherit',
  })
  await untilReady(options, child)
  return {
    pid: child.pid,
    url: options.url,
    readyUrl: options.readyUrl,
    storePids: options.storePids ?? [],
    startMs: performance.now() - startedAt,
    stop: () => stop(child),
  }
}

async function stop(child: Bun.Subprocess): Promise<void> {
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
  await child.exited
  clearTimeout(timer)
}

async function untilReady({ command, readyUrl }: StartOptions, child: Bun.Subprocess): Promise<void> {
  const deadline = performance.now() + 60_000
  while (performance.now() < deadline) {
    if (child.exitCode !== null) throw new Error(`${command.join(' ')} ended with ${child.exitCode}`)
    try {
      const answer = await fetch(readyUrl, { signal: AbortSignal.timeout(1000) })
      await answer.arrayBuffer()
      if (answer.status < 500) return
    } catch {
      // Not yet.
    }
    await Bun.sleep(10)
  }
  await stop(child)
  throw new Error(`nothing answers at ${readyUrl}`)
}

export function startStub(binary: string): Promise<RunningServer> {
  const port = freePort()
  const url = `http://127.0.0.1:${port}`
  return startServer({ command: [binary, '-p', String(port)], url, readyUrl: `${url}/__stats` })
}

export function startBunProxy(
  mode: 'native' | 'pull' | 'transform',
  upstream: string,
): Promise<RunningServer> {
  const port = freePort()
  const url = `http://127.0.0.1:${port}`
  return startServer({
    command: [process.execPath, join(HERE, 'bun-proxy.ts')],
    url,
    readyUrl: url,
    env: { MODE: mode, PORT: String(port), UPSTREAM: upstream, BUN_CONFIG_MAX_HTTP_REQUESTS: '65535' },
  })
}

export async function startNginx(directory: string, upstream: string): Promise<RunningServer> {
  const port = freePort()
  const home = join(directory, 'nginx')
  mkdirSync(home, { recursive: true })
  const file = join(home, 'nginx.conf')
  await Bun.write(file, nginxConfig(port, upstream.replace('http://', '')))
  const url = `http://127.0.0.1:${port}`
  return startServer({
    command: ['nginx', '-e', 'stderr', '-p', home, '-c', file],
    url,
    readyUrl: `${url}/__stats`,
  })
}

/** The physical limit to compare with: one worker, keepalive upstream, no buffering. */
function nginxConfig(port: number, upstream: string): string {
  return `
daemon off; worker_processes 1; error_log stderr error; pid nginx.pid;
worker_rlimit_nofile 20000;
events { worker_connections 9000; }
http {
  access_log off;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  client_max_body_size 64m; client_body_buffer_size 4m; keepalive_requests 1000000; tcp_nodelay on;
  upstream stub { server ${upstream}; keepalive 512; keepalive_requests 1000000; }
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location / {
      proxy_pass http://stub; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_buffering off; proxy_request_buffering on; proxy_read_timeout 600s;
    }
  }
}
`
}
