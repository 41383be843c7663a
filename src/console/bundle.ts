import { join } from 'node:path'

/** One file that the browser asks for, ready to be sent. */
export interface Asset {
  /** Below the console's root, with a leading slash. */
  path: string
  type: string
  body: Uint8Array<ArrayBuffer>
  /** The same, compressed once. */
  gzip: Uint8Array<ArrayBuffer>
}

/** The pages of the console. */
export interface Bundle {
  /** What every path of a page answers: it names the assets and holds no script and no style of its own. */
  index: Asset
  /** By path. A name holds the hash of its content, so that a browser may keep it for good. */
  assets: ReadonlyMap<string, Asset>
}

const WEB = join(import.meta.dir, 'web')
const ENTRIES = ['main.tsx', 'theme.ts', 'style.css']
const ICON = 'icon.svg'

/**
 * Builds the pages from src/console/web, minified (about 100 ms). Nothing of the server is in them: what they import
 * outside their folder they import as types.
 * @throws if a file of them does not build; the message says which and where
 */
export async function buildBundle(web = WEB): Promise<Bundle> {
  const built = await Bun.build({
    entrypoints: ENTRIES.map(name => join(web, name)),
    target: 'browser',
    format: 'esm',
    minify: true,
    naming: 'assets/[name]-[hash].[ext]',
    define: { 'process.env.NODE_ENV': '"production"' },
    // What it throws is too entangled for a line of the log.
    throw: false,
  })
  if (!built.success) throw new Error(built.logs.map(faultText).join('\n'))
  const outputs = await Promise.all(
    built.outputs.map(async output =>
      assetOf(
        `/${output.path.replace(/^\.?\//, '')}`,
        output.type,
        new Uint8Array(await output.arrayBuffer()),
      ),
    ),
  )
  outputs.push(await iconAsset(web))
  const template = await Bun.file(join(web, 'index.html')).text()
  const html = [...ENTRIES, ICON].reduce(
    (page, entry) => page.replace(`./${entry}`, pathOf(entry, outputs)),
    template,
  )
  return {
    index: assetOf('/index.html', 'text/html; charset=utf-8', new TextEncoder().encode(html)),
    assets: new Map(outputs.map(asset => [asset.path, asset])),
  }
}

/** `pages/keys/keys.tsx:12: Unexpected ;` */
function faultText({ message, position }: BuildMessage | ResolveMessage): string {
  return position === null ? message : `${position.file}:${position.line}: ${message}`
}

async function iconAsset(web: string): Promise<Asset> {
  const body = await Bun.file(join(web, ICON)).bytes()
  return assetOf(`/assets/icon-${Bun.hash(body).toString(36)}.svg`, 'image/svg+xml', body)
}

function assetOf(path: string, type: string, body: Uint8Array<ArrayBuffer>): Asset {
  return { path, type, body, gzip: Bun.gzipSync(body, { level: 9 }) }
}

/** `main.tsx` -> `/assets/main-1a2b3c4d.js` */
function pathOf(entry: string, outputs: readonly Asset[]): string {
  const [name = ''] = entry.split('.')
  const found = outputs.find(({ path }) => path.startsWith(`/assets/${name}-`))
  if (found === undefined) throw new Error(`the console's ${entry} was not built`)
  return found.path
}
