import { expect } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Compiles a WebAssembly module once more, with the script of package.json that makes it, and compares the bytes. */
export async function expectCompiled(module: string, script: string): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'tollgate-wasm-'))
  try {
    const built = join(directory, 'built.wasm')
    const child = Bun.spawn(['bun', 'run', script, '--outFile', built], {
      stdout: 'ignore',
      stderr: 'ignore',
    })
    expect(await child.exited).toBe(0)
    expect(readFileSync(built).equals(readFileSync(module))).toBe(true)
  } finally {
    rmSync(directory, { recursive: true })
  }
}
