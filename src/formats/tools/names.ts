import type { NameRule } from '@/formats/codec.ts'
import type { ToolCallKind } from '@/generation/part.ts'
import type { ArgumentNames } from './argument-names.ts'

/** What a tool is to the caller. Two tools are the same exactly when all three agree. */
export interface ToolIdentity {
  kind: ToolCallKind
  name: string
  namespace: string | undefined
}

/** What the names of a lowered request stand for. Plain functions that kept their name are not in it. */
export interface ToolTable {
  readonly origins: ReadonlyMap<string, ToolIdentity>
  /** The arguments of functions, by the names that those have upstream, where the arguments have others there. */
  readonly argumentNames: ReadonlyMap<string, ArgumentNames>
}

/**
 * Gives every tool of a request one plain name that fits the rule and is its alone. A name depends on the tool's
 * identity only, not on its neighbours, so that it is the same in every turn and prompt caches keep hitting. Where
 * two identities want one name, a plain function that is really called so keeps it and the others get a hash. So does one
 * that is called as a tool of the vendor's is.
 */
export class ToolNames {
  readonly #rule: NameRule
  readonly #taken: ReadonlySet<string>
  readonly #owners = new Map<string, ToolIdentity>()
  readonly #byIdentity = new Map<string, string>()
  /** By namespace and name alone: a tool whose kind changed since an earlier turn is still that tool. */
  readonly #byPlace = new Map<string, string>()

  /**
   * @param defined the request's tools, each once.
   * @param taken names that none of them may have.
   */
  constructor(defined: readonly ToolIdentity[], rule: NameRule, taken: ReadonlySet<string>) {
    this.#rule = rule
    this.#taken = taken
    for (const [name, tools] of Map.groupBy(defined, tool => this.#fitName(tool))) {
      for (const tool of tools) if (tools.length === 1 || isPlain(tool, name)) this.#assign(tool, name)
    }
    for (const tool of defined) {
      if (!this.#byIdentity.has(identityKey(tool))) this.#assign(tool, this.#freeHash(tool))
    }
  }

  /** The tool's name upstream. A tool that only the history knows is given one on the way. */
  of(tool: ToolIdentity): string {
    const known = this.#byIdentity.get(identityKey(tool)) ?? this.#byPlace.get(placeKey(tool))
    if (known !== undefined) return known
    const fit = this.#fitName(tool)
    const name = this.#owners.has(fit) ? this.#freeHash(tool) : fit
    this.#assign(tool, name)
    return name
  }

  /** The same for a tool choice, in which a bare name may mean the one namespaced tool that has it. */
  ofChoice(tool: ToolIdentity): string {
    if (tool.namespace === undefined && !this.#byPlace.has(placeKey(tool))) {
      const [first, second] = [...this.#owners].filter(([, owner]) => owner.name === tool.name)
      if (first !== undefined && second === undefined) return first[0]
    }
    return this.of(tool)
  }

  origins(): ToolTable['origins'] {
    return new Map([...this.#owners].filter(([name, tool]) => !isPlain(tool, name)))
  }

  /** The name a tool has when no other wants it: its own (`namespace__name`) where that fits. */
  #fitName(tool: ToolIdentity): string {
    const own = ownName(tool)
    return fits(own, this.#rule) && !this.#taken.has(own) ? own : hashedName(tool, this.#rule, 0)
  }

  #freeHash(tool: ToolIdentity): string {
    let salt = 0
    while (this.#owners.has(hashedName(tool, this.#rule, salt))) salt += 1
    return hashedName(tool, this.#rule, salt)
  }

  #assign(tool: ToolIdentity, name: string): void {
    this.#owners.set(name, tool)
    this.#byIdentity.set(identityKey(tool), name)
    const place = placeKey(tool)
    if (!this.#byPlace.has(place)) this.#byPlace.set(place, name)
  }
}

/** A key that no two different identities share. */
export function identityKey(tool: ToolIdentity): string {
  return `${tool.kind} ${placeKey(tool)}`
}

function placeKey(tool: ToolIdentity): string {
  return JSON.stringify([tool.namespace ?? null, tool.name])
}

/** True when the tool is a function that the target calls by the caller's own name. */
function isPlain(tool: ToolIdentity, name: string): boolean {
  return tool.kind === 'function' && tool.namespace === undefined && tool.name === name
}

function ownName(tool: ToolIdentity): string {
  return tool.namespace === undefined ? tool.name : `${tool.namespace}__${tool.name}`
}

function fits(name: string, rule: NameRule): boolean {
  return name.length <= rule.maxLength && rule.pattern.test(name)
}

const HASH_LENGTH = 8

/** What can be read of the tool's name, and a hash of its whole identity. */
function hashedName(tool: ToolIdentity, rule: NameRule, salt: number): string {
  const digest = new Bun.CryptoHasher('sha256').update(`${identityKey(tool)} ${salt}`).digest('hex')
  const hash = digest.slice(0, HASH_LENGTH)
  const readable = ownName(tool).replaceAll(/[^a-zA-Z0-9_-]/g, '_')
  const room = rule.maxLength - HASH_LENGTH - 1
  const candidates = [readable, `_${readable}`, `tool_${readable}`].map(
    prefix => `${prefix.slice(0, room)}_${hash}`,
  )
  return candidates.find(name => fits(name, rule)) ?? `tool_${hash}`
}
