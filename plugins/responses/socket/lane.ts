/** The frames of one stream of a WebSocket, in their order, and the latest response there: its
 *  history for a request that continues it, where `store: false` keeps it out of the database. */
import { type Fields, lenientText } from '../../formats/fields.ts'
import { itemsOf } from '../../formats/openai-responses/history.ts'

/** A response that only this connection knows. */
interface LocalResponse {
  readonly id: string
  /** The stored response that its history begins with. */
  readonly base: string | undefined
  /** Everything after that, the response's own output included. */
  readonly items: readonly Fields[]
}

export class Lane {
  readonly queue: { readonly frame: Fields; readonly size: number }[] = []
  isRunning = false
  #latest: LocalResponse | undefined

  /** The request with the history of a response of this lane in place of its id. */
  expand(request: Fields): Fields | undefined {
    const { previous_response_id: previous, ...rest } = request
    const latest = this.#latest
    if (latest === undefined || previous !== latest.id) return undefined
    const input = [...latest.items, ...itemsOf(request.input)]
    return latest.base === undefined
      ? { ...rest, input }
      : { ...rest, input, previous_response_id: latest.base }
  }
  /** Remembers a response and its expanded request. */
  remember(request: Fields, response: Fields): void {
    this.#latest = {
      id: lenientText(response, 'id') ?? '',
      base: lenientText(request, 'previous_response_id'),
      items: [...itemsOf(request.input), ...itemsOf(response.output)],
    }
  }
  /** Forgets its latest response; with an id only that one. */
  forget(id = this.#latest?.id): void {
    if (this.#latest?.id === id) this.#latest = undefined
  }
}
