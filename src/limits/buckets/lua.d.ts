/** Imported `with { type: 'text' }`. */
declare module '*.lua' {
  const source: string
  export default source
}
