import { join } from 'node:path'
import { type Call, callOf, type Scenario, SIDES, type Side } from './scenarios.ts'
import { type RunningServer, startBunProxy, startNginx } from './servers.ts'
import { type Deployment, deploy, modelName, type Stores } from './tollgate.ts'

/** Something that a request can go through. */
export interface Target {
  name: string
  /** Targets of one server share its process. */
  server: Server
  headers: Readonly<Record<string, string>>
  call(scenario: Scenario): Call
  /** True: left out of scenarios that are measured for a few only. */
  isExtra: boolean
}

export interface Server {
  start(): Promise<RunningServer>
  /** True: its later starts are worth telling. */
  isGateway: boolean
}

interface TargetOptions {
  directory: string
  stub: RunningServer
  pairs: readonly Pair[]
  /** Where the gateways keep their state, each under its name in the table. */
  stores: Readonly<Record<string, Stores>>
  /** How many workers a gateway beside databases given by address has; a target for each. */
  workers: readonly number[]
}

/** A conversion class: the caller's format, then the upstream's. */
interface Pair {
  caller: Side
  upstream: Side
}

/** The stub itself: what the load generator and the kernel cost. */
export const FLOOR = 'stub, directly'
/** What the ratios are to. */
export const BASELINE = 'nginx'

/** Every target, the baseline first, and what has to be undone at the end. */
export async function createTargets(
  options: TargetOptions,
): Promise<{ targets: Target[]; deployments: Deployment[] }> {
  const { directory, stub } = options
  const plain = (name: string, start: () => Promise<RunningServer>): Target => ({
    name,
    server: { start, isGateway: false },
    headers: {},
    call: scenario => callOf('chat', scenario, scenario.stub),
    isExtra: false,
  })
  const targets = [
    plain(BASELINE, () => startNginx(directory, stub.url)),
    plain(FLOOR, async () => ({ ...stub, stop: async () => {} })),
    plain('bun, native', () => startBunProxy('native', stub.url)),
    plain('bun, pull', () => startBunProxy('pull', stub.url)),
    plain('bun, TransformStream', () => startBunProxy('transform', stub.url)),
  ]
  const deployments: Deployment[] = []
  for (const [name, stores] of Object.entries(options.stores)) {
    const deployment = await deploy(join(directory, name.replaceAll(/\W+/g, '-')), stub.url, stores)
    deployments.push(deployment)
    for (const workers of stores === 'embedded' ? [1] : options.workers) {
      const server = { start: () => deployment.start(workers), isGateway: true }
      const named = workers === 1 ? name : `${name} ${workers} workers,`
      for (const pair of options.pairs) targets.push(gatewayTarget(named, deployment.key, server, pair))
    }
  }
  return { targets, deployments }
}

function gatewayTarget(name: string, key: string, server: Server, pair: Pair): Target {
  return {
    name: `${name} ${nameOf(pair)}`,
    server,
    headers: { authorization: `Bearer ${key}` },
    call: scenario => callOf(pair.caller, scenario, modelName(pair.upstream, scenario.stub)),
    isExtra: !FEW.includes(nameOf(pair)),
  }
}

/** Passthrough and one conversion, for what takes long to measure. */
const FEW = ['chat>chat', 'chat>messages']

/** The classes that are measured unless others are named. */
const USUAL = ['chat>chat', 'chat>messages', 'messages>chat', 'responses>chat', 'gemini>chat']

/** @param text `all`, nothing for the usual ones, or a comma list as in `chat>messages,gemini>chat`. */
export function readPairs(text: string | undefined): Pair[] {
  const all = SIDES.flatMap(caller => SIDES.map(upstream => ({ caller, upstream })))
  if (text === 'all') return all
  const names = text?.split(',') ?? USUAL
  return names.map(name => {
    const pair = all.find(candidate => nameOf(candidate) === name)
    if (pair === undefined) throw new Error(`no pair ${name}; there are ${all.map(nameOf).join(', ')}`)
    return pair
  })
}

function nameOf({ caller, upstream }: Pair): string {
  return `${caller}>${upstream}`
}
