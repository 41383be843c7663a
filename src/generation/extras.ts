/** What an exchange used beside tokens. Stored with its result, so that its receipt can be made for good. */
export interface Extras {
  /** How many images were made, by size. */
  images?: Readonly<Record<string, number>>
  /** Seconds of video made. */
  videoSeconds?: number
  /** Seconds of sound heard or made, begun ones included. */
  audioSeconds?: number
  /** Characters of text that was spoken. */
  characters?: number
}
