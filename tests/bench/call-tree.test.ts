import { describe, expect, test } from 'bun:test'
import { CallTree } from './call-tree.ts'
import { JitDump } from './jit-dump.ts'

/** A jitdump file in which these functions were compiled, in this order: name, address, size. */
function dumpOf(...code: [name: string, start: number, size: number][]): JitDump {
  const head = Buffer.alloc(40)
  head.writeUInt32LE(0x4a695444, 0)
  head.writeUInt32LE(head.length, 8)
  // A kind of record that says nothing of names.
  const other = Buffer.alloc(24)
  other.writeUInt32LE(2, 0)
  other.writeUInt32LE(other.length, 4)
  const records = code.map(([name, start, size]) => {
    const record = Buffer.alloc(56 + name.length + 1)
    record.writeUInt32LE(record.length, 4)
    record.writeBigUInt64LE(BigInt(start), 32)
    record.writeBigUInt64LE(BigInt(size), 40)
    record.write(name, 56)
    return record
  })
  return new JitDump(Buffer.concat([head, other, ...records]))
}

const compiled = (name: string) => `JSC-FTL: ${name}#Ab12Cd`

describe('what stood where', () => {
  test('is known of every address within a function, and of none beside it', () => {
    const dump = dumpOf(['second', 0x2000, 0x10], ['first', 0x1000, 0x10])
    const at = [0xfff, 0x1000, 0x100f, 0x1010, 0x2000, 0x2010]
    expect(at.map(address => dump.nameAt(address))).toEqual([
      undefined,
      'first',
      'first',
      undefined,
      'second',
      undefined,
    ])
  })

  test('is what was compiled last, wherever it reaches', () => {
    const dump = dumpOf(['left', 0x1000, 0x100], ['right', 0x1100, 0x100], ['later', 0x10f0, 0x20])
    expect(dump.nameAt(0x10ff)).toBe('later')
    expect(dump.nameAt(0x1100)).toBe('later')
    expect(dump.nameAt(0x1000)).toBeUndefined()
  })

  test('is read up to half a record', () => {
    const head = Buffer.alloc(44)
    head.writeUInt32LE(0x4a695444, 0)
    head.writeUInt32LE(40, 8)
    expect(new JitDump(head).nameAt(0)).toBeUndefined()
    expect(() => new JitDump(Buffer.from('something else'))).toThrow('no jitdump file')
  })
})

describe('a tree of calls', () => {
  const names = dumpOf(
    [compiled('outer'), 0x1000, 0x100],
    [compiled('inner'), 0x2000, 0x100],
    ['JSC-Thunk: CallTrampoline', 0x3000, 0x100],
    [compiled(''), 0x4000, 0x100],
  )
  const [outer, inner, thunk, nameless] = ['1001', '2001', '3001', '4001']
  const native = (address: string) => `  ${address} [unknown] (/usr/bin/bun)`
  const kernel = '  ffff81 sys_write ([kernel.kallsyms])'

  test('has what Bun and the kernel did with the function that wanted it', () => {
    const tree = new CallTree(names)
    tree.add([native(inner), native(outer)])
    tree.add([native('77'), native(thunk), native(inner), native(outer)])
    tree.add([kernel, native('77'), native(inner), native(outer)])
    tree.add([native('77'), native('78')])
    expect(tree.lines(1, 1)).toEqual([
      '4.00  all  (itself: Bun 1.00)',
      '  3.00  outer',
      '    3.00  inner  (itself: JavaScript 1.00, Bun 1.00, kernel 1.00)',
    ])
  })

  test('tells an async function and its body, which has the same name, as one, and leaves out what took little', () => {
    const tree = new CallTree(names)
    for (let sample = 0; sample < 3; sample += 1) tree.add([native(outer), native(outer)])
    tree.add([native(nameless)])
    tree.add([])
    expect(tree.lines(2, 1)).toEqual(['4.00  all', '  3.00  outer  (itself: JavaScript 3.00)'])
    expect(tree.lines(0.5, 0.5)).toContain(
      '  0.50  (a function without a name, Ab12Cd)  (itself: JavaScript 0.50)',
    )
  })
})
