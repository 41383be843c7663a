import { spawn } from 'node:child_process'
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Refusal } from '@/errors/refusal.ts'
import {
  type Cluster,
  DATABASE,
  endWithProcess,
  faultsIn,
  pathForServer,
  processOptions,
  USER,
} from './cluster.ts'

/** Makes a cluster in the empty directory. Collation is built into Postgres, so no locale of the system matters. */
export async function initialise(cluster: Cluster): Promise<void> {
  const { path, remove } = plainInitdb(cluster.binaries.initdb)
  await makeCluster(cluster, path).finally(remove)
  await createDatabase(cluster)
}

/**
 * The program under a path that means itself to a shell, between whose double quotes it puts the path of its neighbour
 * `postgres`. It looks through links to itself, so it is copied; the libraries' folder may be a link.
 */
function plainInitdb(initdb: string): { path: string; remove(): void } {
  if (!/["$`\\]/.test(initdb)) return { path: initdb, remove: () => undefined }
  const native = dirname(dirname(initdb))
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-'))
  // It may run as another user.
  chmodSync(folder, 0o755)
  mkdirSync(join(folder, 'bin'))
  for (const program of ['initdb', 'postgres']) {
    copyFileSync(join(native, 'bin', program), join(folder, 'bin', program))
  }
  for (const name of ['lib', 'share']) symlinkSync(join(native, name), join(folder, name))
  return { path: join(folder, 'bin', 'initdb'), remove: () => rmSync(folder, { recursive: true }) }
}

async function makeCluster(cluster: Cluster, initdb: string): Promise<void> {
  const { exitCode, output } = await run(cluster, initdb, [
    `--pgdata=${pathForServer(cluster)}`,
    `--username=${USER}`,
    '--auth=trust',
    '--encoding=UTF8',
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--no-instructions',
  ])
  if (exitCode !== 0) throw notMade(output)
}

/** In the server's single-user mode, so that a cluster is never seen without the database. */
async function createDatabase(cluster: Cluster): Promise<void> {
  const flags = ['--single', '-D', pathForServer(cluster), 'postgres']
  const { exitCode, output } = await run(
    cluster,
    cluster.binaries.postgres,
    flags,
    `create database ${DATABASE}\n`,
  )
  if (exitCode === 0 && !/\b(ERROR|FATAL):/.test(output)) return
  throw notMade(output)
}

/** What went wrong first; a full disk is followed by a panic about something else. */
export function notMade(output: string): Refusal {
  return new Refusal(`The embedded Postgres could not be made: ${faultsIn(output)[0]}`)
}

async function run(cluster: Cluster, program: string, args: string[], input = '') {
  const child = spawn(program, args, { ...processOptions(cluster), stdio: ['pipe', 'pipe', 'pipe'] })
  const letLive = endWithProcess(child, 'SIGTERM')
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  let output = ''
  child.stdout.on('data', chunk => (output += String(chunk)))
  child.stderr.on('data', chunk => (output += String(chunk)))
  const exitCode = await new Promise<number | null>(resolve => {
    child.once('error', error => {
      output += error.message
      resolve(null)
    })
    child.once('close', resolve)
  })
  letLive()
  return { exitCode, output }
}
