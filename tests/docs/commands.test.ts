import { expect, test } from 'bun:test'

const ROOT = new URL('../..', import.meta.url).pathname

/** What a table of the README names: `redeem create`, or `key create\|list` for several of one noun. */
function commandsNamed(readme: string): string[] {
  const rows = readme.split('\n').filter(line => line.startsWith('| `bun run tollgate '))
  const named = rows.flatMap(row => [...(row.split(' | ')[0] ?? '').matchAll(/`([^`]+)`/g)])
  return named.flatMap(([, text = '']) => {
    const [noun = '', verbs = ''] = text.replace('bun run tollgate ', '').split(' ')
    if (verbs === '' || verbs.startsWith('-')) return [noun]
    return verbs.split('\\|').map(verb => `${noun} ${verb}`)
  })
}

test('the README names every command, and none that is not there', async () => {
  const help = Bun.spawnSync(['bun', 'src/main.ts', '--help'], { cwd: ROOT }).stdout.toString()
  const commands = [...help.matchAll(/^ {2}(\S+(?: \S+)?) {2,}/gm)].map(([, name = '']) => name)
  const named = commandsNamed(await Bun.file(`${ROOT}README.md`).text())
  // `serve` is what `bun run start` runs.
  expect(named.sort()).toEqual(commands.filter(name => name !== 'serve').sort())
})
