/** Statements that are known only when the stages have run: they are written in one transaction
 *  with the charge of the response and its Idempotency-Key, so that a crash before it leaves
 *  nothing. */
import type { Exchange, Statement } from '../../engine/plugin.ts'

/** Call it after `next()`, so that its filter is behind that of the meter. */
export const writeAtEnd = (
  { reply, writes }: Exchange,
  statements: () => readonly Statement[],
): void =>
  reply.through({
    end(tail, out) {
      writes.add(...statements())
      out.end(tail)
    },
  })
