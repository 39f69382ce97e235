/** Listens to the answer of an attempt that is translated. */
import type { Attempt, Fault, Log } from '../../../engine/plugin.ts'
import { accountFault, reportedFault, upstreamFault } from '../../conversion/upstream-error.ts'
import { bodyOf } from '../../dialects/index.ts'
import type { Fields } from '../../formats/fields.ts'
import type { HostedUsage, TargetFormat } from '../../formats/format.ts'
import type { ResponseListener } from '../../formats/stream/response-listener.ts'
import { accountIdOf } from '../thought-cache.ts'
import type { TranslatableFormat, TranslationContext } from '../translation-context.ts'
import { AnswerUsage } from './answer-usage.ts'
import { AttemptListener } from './attempt-listener.ts'
import type { ResponseEncoder } from './response-encoder.ts'
import { decodedUsage } from './response-usage.ts'

interface TranslatedResponse {
  readonly client: TranslatableFormat
  readonly target: TargetFormat
  readonly encoder: ResponseEncoder
  readonly isStream: boolean
  readonly hostedUsage: HostedUsage | undefined
}

export const translationListener = (
  attempt: Attempt,
  { client, target, encoder, isStream, hostedUsage }: TranslatedResponse,
  { log, thoughts }: Pick<TranslationContext, 'log' | 'thoughts'>,
): ResponseListener => {
  const { exchange } = attempt
  const { usage: facts } = target
  const recorder = client.codec.losesSignatures
    ? thoughts.createRecorder(accountIdOf(exchange))
    : undefined
  return new AttemptListener({
    attempt,
    log,
    format: target.name,
    // Formats without text, such as images, have nothing to estimate from.
    usage: facts?.text
      ? new AnswerUsage(attempt, { facts, isStream }, hostedUsage, log)
      : decodedUsage(attempt, hostedUsage),
    onPart: recorder && (part => recorder.add(part)),
    errorIn: errorReader(attempt, target, log),
    encodeFailure: reason => encoder.fail(bodyOf(client.dialect, reason, exchange.id)),
  })
}

/** Every error of the target becomes one in the client's dialect. */
const errorReader =
  (attempt: Attempt, { codec, stream }: TargetFormat, log: Log): ResponseListener['errorIn'] =>
  (event, hasContent) => {
    const error = stream.error(event) ?? (hasContent ? undefined : stream.failedEnd?.(event))
    if (!error) return undefined
    if (!hasContent) return reportedFault(log, codec, attempt, error)
    const { status, body } = error
    return (
      accountFault(log, attempt, { status, text: JSON.stringify(body) }) ??
      upstreamFault(codec, status, body)
    )
  }
/** The error that a plain answer reports in place of content. */
export const failureReader =
  (attempt: Attempt, { codec, answers }: TargetFormat, log: Log) =>
  (answer: Fields): Fault | undefined => {
    const error = answers?.failure(answer)
    return error && reportedFault(log, codec, attempt, error)
  }
