import { mkdirSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const NEEDED = { gcc: 'gcc', nginx: 'nginx' }

/** A line for each program that is not there, saying what installs it. @param more Debian's packages by program */
export function missingPrograms(more: Readonly<Record<string, string>> = {}): string[] {
  return Object.entries({ ...NEEDED, ...more })
    .filter(([program]) => Bun.which(program) === null)
    .map(([program, debian]) => `${program} is not installed: apt-get install ${debian}`)
}

/** Compiles what is written in C, once per version of its source, and says where it is. */
export function build(): string {
  const binaries = join(tmpdir(), 'tollgate-bench-build')
  mkdirSync(binaries, { recursive: true })
  for (const name of ['stub', 'load']) {
    const source = join(import.meta.dir, `${name}.c`)
    const binary = join(binaries, name)
    if (modifiedMs(binary) > modifiedMs(source)) continue
    const { exitCode } = Bun.spawnSync(['gcc', '-O2', '-o', binary, source], { stderr: 'inherit' })
    if (exitCode !== 0) throw new Error(`gcc cannot compile ${source}`)
  }
  return binaries
}

function modifiedMs(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0
}
