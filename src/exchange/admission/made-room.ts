import type { BodyRoom } from '@/limits/body-room.ts'
import { noRoom } from './body-arrival.ts'

/** Room for what is made of a body that cannot be handed on as it came, from then until all of that is forgotten. */
export class MadeRoom {
  readonly #account: number
  readonly #bodyRoom: BodyRoom
  #taken = 0

  constructor(account: number, bodyRoom: BodyRoom) {
    this.#account = account
    this.#bodyRoom = bodyRoom
  }

  /**
   * Room for what is made of a body of so many bytes: once, for however many routes it is made.
   * @throws GatewayError `overloaded`
   */
  take(bytes: number): void {
    if (this.#taken > 0) return
    if (!this.#bodyRoom.takeMade(bytes, this.#account)) throw noRoom()
    this.#taken = bytes
  }

  giveBack(): void {
    this.#bodyRoom.giveBackMade(this.#taken, this.#account)
    this.#taken = 0
  }
}
