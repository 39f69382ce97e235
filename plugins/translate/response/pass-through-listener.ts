/** Listens to the answer of an attempt whose bytes pass. */
import type { Attempt, Log } from '../../../engine/plugin.ts'
import { accountFault } from '../../conversion/upstream-error.ts'
import { bodyOf, render } from '../../dialects/index.ts'
import type { Format, HostedUsage, UsageEstimate } from '../../formats/format.ts'
import type { ResponseListener } from '../../formats/stream/response-listener.ts'
import { STREAM_ERROR_TEXT } from '../../slots.ts'
import { AnswerUsage } from './answer-usage.ts'
import { AttemptListener } from './attempt-listener.ts'
import { estimatedUsage } from './response-usage.ts'

interface PassedAnswer {
  readonly format: Format
  readonly log: Log
  readonly isStream: boolean
  readonly estimate: UsageEstimate | undefined
  readonly hostedUsage: HostedUsage | undefined
}

export const passThroughListener = (
  attempt: Attempt,
  { format, log, isStream, estimate, hostedUsage }: PassedAnswer,
): ResponseListener => {
  const { dialect, stream, usage: facts } = format
  const { id } = attempt.exchange
  return new AttemptListener({
    attempt,
    log,
    format: format.name,
    usage: estimate
      ? estimatedUsage(attempt, estimate)
      : new AnswerUsage(attempt, { facts, isStream }, hostedUsage, log),
    /** The client reads nothing about the gateway's account at the upstream. */
    errorIn(event) {
      const error = stream.error(event)
      if (!error) return undefined
      const text = JSON.stringify(error.body)
      const reason = accountFault(log, attempt, { status: error.status, text })
      attempt.exchange.slots.set(STREAM_ERROR_TEXT, reason?.message ?? text)
      return reason
    },
    encodeFailure: (reason, last) =>
      stream.encodeFailure
        ? stream.encodeFailure(bodyOf(dialect, reason, id), last)
        : (render(dialect, reason, attempt.exchange).event ?? Buffer.alloc(0)),
  })
}
