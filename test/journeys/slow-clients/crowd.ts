/** A program: thousands of slow clients that reconnect after each close. Usage: `port kind seconds
 *  count`. Sends over IPC how many were closed, and the age of the oldest (ms). */
import { rawClient } from '../../helpers/gateway/raw-client.ts'
import { KINDS } from './kinds.ts'

const [port = '', kind = '', seconds = '', count = ''] = process.argv.slice(2)
const kinds = Object.values(KINDS[kind as keyof typeof KINDS])
const until = performance.now() + Number(seconds) * 1_000
const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))
let oldest = 0
let closedCount = 0

const slow = async (_: unknown, index: number): Promise<void> => {
  const { start, piece } = kinds[index % kinds.length] ?? { start: '', piece: '' }
  await pause(index) // clients start within five seconds
  while (performance.now() < until) {
    const client = await rawClient({ port: Number(port) })
    const openedAt = performance.now()
    void client.closed.then(() => {
      if (performance.now() >= until) return
      oldest = Math.max(oldest, performance.now() - openedAt)
      closedCount++
    })
    await client.send(start)
    for (; !client.over() && performance.now() < until; await pause(1_000))
      if (piece !== '') await client.send(piece)
    client.close()
  }
}
await Promise.all(Array.from({ length: Number(count) }, slow))
process.send?.({ gone: closedCount, oldest })
process.disconnect?.()
