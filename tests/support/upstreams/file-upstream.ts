import { afterAll } from 'bun:test'
import { type Script, type ScriptedUpstream, scriptedUpstream } from './upstream.ts'

/** An upstream for the tests of a file, stopped after the last of them. */
export function fileUpstream(script: Script): ScriptedUpstream {
  const upstream = scriptedUpstream(script)
  afterAll(() => upstream.stop())
  return upstream
}
