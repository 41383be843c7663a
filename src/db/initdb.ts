import { spawn } from 'node:child_process'
import { Refusal } from '@/errors/refusal.ts'
import { type Cluster, DATABASE, faultsIn, pathForServer, processOptions, USER } from './cluster.ts'

/** Makes a cluster in the empty directory. Collation is built into Postgres, so no locale of the system matters. */
export async function initialise(cluster: Cluster): Promise<void> {
  const { exitCode, output } = await run(cluster, cluster.binaries.initdb, [
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
  await createDatabase(cluster)
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
  return { exitCode, output }
}
