/** A JSON array that grows, as a stream: each element is an event. A body that is one object is one
 *  event. */
import { asBuffer } from '../../../engine/kit.ts'
import type { Bytes } from '../../../engine/plugin.ts'
import type { EventSplitter, Framing } from './framing.ts'
import type { SseEvent } from './sse.ts'

const [QUOTE, BACKSLASH, OPEN, CLOSE] = [0x22, 0x5c, 0x7b, 0x7d]

/** Cuts between the objects of the array, for any chunk boundaries. */
class ElementSplitter implements EventSplitter {
  #chunks: Bytes[] = []
  #depth = 0
  #isInText = false
  #isEscaped = false

  push(chunk: Bytes): Bytes | undefined {
    const end = this.#endOfElements(chunk)
    if (end === 0) {
      this.#chunks.push(chunk)
      return undefined
    }
    const whole = Buffer.concat([...this.#chunks, chunk.subarray(0, end)])
    this.#chunks = end < chunk.length ? [chunk.subarray(end)] : []
    return whole
  }
  /** An element without its end cannot be read. */
  take(): undefined {
    this.#chunks = []
  }
  /** The position behind the last object that is complete; 0: none is. */
  #endOfElements(chunk: Bytes): number {
    let end = 0
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at]
      if (this.#isInText) this.#readText(byte)
      else if (byte === QUOTE) this.#isInText = true
      else if (byte === OPEN) this.#depth++
      else if (byte === CLOSE && --this.#depth === 0) end = at + 1
    }
    return end
  }
  #readText(byte: number | undefined): void {
    if (this.#isEscaped) this.#isEscaped = false
    else if (byte === BACKSLASH) this.#isEscaped = true
    else if (byte === QUOTE) this.#isInText = false
  }
}

const elementsIn = (bytes: Bytes): readonly SseEvent[] => {
  const buffer = asBuffer(bytes)
  const events: SseEvent[] = []
  const splitter = new ElementSplitter()
  let start = 0
  for (let end = buffer.indexOf(CLOSE) + 1; end > 0; end = buffer.indexOf(CLOSE, end) + 1) {
    const element = splitter.push(buffer.subarray(start, end))
    start = end
    if (!element) continue
    const text = asBuffer(element)
      .toString()
      .replace(/^[[\],\s]+/, '')
    events.push({ name: '', data: text, start: end - element.length, end, fields: undefined })
  }
  return events
}

export const ARRAY_FRAMING: Framing = {
  isStream: () => true,
  createSplitter: () => new ElementSplitter(),
  eventsIn: elementsIn,
}
