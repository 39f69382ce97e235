/** A program: thousands of slow clients that come back whenever they are let go. `port kind seconds count`; says how many were,
 *  and how old the oldest had become (ms). */
import { rawClient } from './raw.ts'
import { KINDS } from './slow.ts'

const [port = '', kind = '', seconds = '', count = ''] = process.argv.slice(2)
const kinds = Object.values(KINDS[kind as keyof typeof KINDS])
const until = performance.now() + Number(seconds) * 1_000
const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))
let oldest = 0
let gone = 0

const slow = async (_: unknown, index: number): Promise<void> => {
  const { start, piece } = kinds[index % kinds.length] ?? { start: '', piece: '' }
  await pause(index) // they come within five seconds
  while (performance.now() < until) {
    const client = await rawClient({ port: Number(port) })
    const born = performance.now()
    void client.closed.then(() => {
      if (performance.now() >= until) return
      oldest = Math.max(oldest, performance.now() - born)
      gone++
    })
    await client.send(start)
    for (; !client.over() && performance.now() < until; await pause(1_000))
      if (piece !== '') await client.send(piece)
    client.close()
  }
}
await Promise.all(Array.from({ length: Number(count) }, slow))
process.send?.({ gone, oldest })
process.disconnect?.()
