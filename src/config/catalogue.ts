import anthropic from './catalogue/anthropic.yaml' with { type: 'text' }
import demo from './catalogue/demo.yaml' with { type: 'text' }
import gemini from './catalogue/gemini.yaml' with { type: 'text' }
import openai from './catalogue/openai.yaml' with { type: 'text' }
import type { ConfigFile } from './entries.ts'
import { parseConfigFile } from './file.ts'
import { type Environment, SettingsError } from './settings.ts'

/** A vendor whose models ship with the gateway: files of the same grammar as tollgate.yaml. */
interface Vendor {
  name: string
  /** Enabled by this variable, which holds the vendor's key. */
  variable: string
  text: string
}

/** The vendors whose models a first start can offer by itself, given a key. */
export const VENDORS: readonly Vendor[] = [
  { name: 'OpenAI', variable: 'OPENAI_API_KEY', text: openai },
  { name: 'Anthropic', variable: 'ANTHROPIC_API_KEY', text: anthropic },
  { name: 'Gemini', variable: 'GEMINI_API_KEY', text: gemini },
]

/** The vendors whose keys the environment holds. */
export function vendorsIn(env: Environment): Vendor[] {
  return VENDORS.filter(({ variable }) => (env[variable] ?? '') !== '')
}

/**
 * The channels and models of these vendors as one file.
 * @throws SettingsError naming each variable that holds no key
 */
export function vendorFile(vendors: readonly Vendor[], env: Environment): ConfigFile {
  const wrong = vendors.filter(({ variable }) => !/^[\x21-\x7e]+$/.test(env[variable] ?? ''))
  if (wrong.length > 0) {
    const expected = 'a key: printable ASCII without white space'
    throw new SettingsError(wrong.map(({ variable }) => `${variable} is set but must be ${expected}`))
  }
  const files = vendors.map(vendor => parse(vendor.name, vendor.text, env))
  return {
    ...parse('nothing', '', env),
    channels: files.flatMap(file => file.channels),
    models: files.flatMap(file => file.models),
  }
}

/** The simulator in every format, and the model `demo/echo` on it. */
export function demoFile(): ConfigFile {
  return parse('demo', demo, {})
}

function parse(name: string, text: string, env: Environment): ConfigFile {
  return parseConfigFile(text, {
    name: `the shipped catalogue (${name})`,
    env,
    known: { channels: new Set() },
  })
}
