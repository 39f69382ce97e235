/** Recordings that some clients cannot receive as recorded, with the affected cells and the reason.
 *  The error or answer that their user gets is still checked. */
import { asString, eventBodies } from '../../helpers/formats/loose-json.ts'
import type { AnswerReading } from '../../helpers/formats/provider-reading.ts'
import { type Recording, recordedFormat } from '../../helpers/formats/recordings.ts'

interface Cells {
  readonly ids: readonly string[]
  readonly reason: string
  /** The affected clients: those of the recording's own format, those of other formats, or a list;
   *  absent: all. */
  readonly cells?: 'own' | 'crossed' | readonly string[]
}
interface Exception extends Cells {
  /** The error that the user of that client catches, */
  readonly throws?: RegExp
  /** with this status if it has one, */
  readonly status?: number
  /** or the answer that the user reads instead of the recorded one. */
  readonly expected?: (reading: AnswerReading, recording: Recording) => AnswerReading
}

const withObjectInput = ({ calls, ...rest }: AnswerReading): AnswerReading => ({
  ...rest,
  calls: calls.map(([name, input]) => [name, { input: input }]),
})
const withDeltaText = (
  reading: AnswerReading,
  { response_body: body }: Recording,
): AnswerReading => {
  const deltas = eventBodies(body).filter(({ type }) => type === 'response.output_text.delta')
  const text = deltas.map(({ delta }) => asString(delta)).join('')
  return { ...reading, text: text + reading.text.slice(text.length) }
}

const EXCEPTIONS: readonly Exception[] = [
  {
    ids: ['rec-0162', 'rec-0164'],
    reason:
      'a background response: there is no answer yet, and only its own format can express that',
    cells: 'crossed',
    throws: /queued/,
    status: 502,
  },
  {
    ids: ['rec-0277'],
    reason: "the quota of the gateway's account, in the middle of a stream",
    // Within one format the bytes of an error in mid-stream pass.
    throws: /accepts no more requests|exceeded your current quota/,
    status: 429,
  },
  {
    ids: ['rec-0278', 'rec-0327'],
    reason: "error 400: the quota of the gateway's account",
    throws: /rejects the gateway's API key/,
    status: 502,
  },
  {
    ids: ['rec-0322', 'rec-0326'],
    reason: 'error 400: unsupported parameter',
    throws: /Unsupported parameter/,
    status: 400,
  },
  {
    ids: ['rec-0377'],
    reason: 'calls of tools that xAI runs itself, in the shape of client calls',
    cells: 'crossed',
    expected: reading => ({ ...reading, calls: [], finish: 'end' }),
  },
  {
    ids: ['rec-0275', 'rec-0276'],
    reason: 'free-text tools: these formats only have object arguments',
    cells: ['anthropic-messages', 'google-gemini'],
    expected: withObjectInput,
  },
  {
    ids: ['rec-0303'],
    reason: 'its deltas were shortened in the recording; the last event holds the full text',
    cells: 'crossed',
    expected: withDeltaText,
  },
  {
    ids: ['rec-0236', 'rec-0245', 'rec-0248', 'rec-0250', 'rec-0251', 'rec-0261', 'rec-0262'],
    reason: 'several messages in one stream: the SDK rejects the second message_start',
    cells: 'own',
    throws: /Unexpected event order/,
  },
  {
    ids: ['rec-0262'],
    reason: 'a message spliced into the middle of another: their blocks cannot be separated',
    cells: 'crossed',
    throws: /interleaved too many parts/,
    status: 502,
  },
  {
    ids: ['rec-0344'],
    reason:
      'a chat completions stream under the name of responses: it has no terminator of that format',
    throws: /before it was complete/,
    status: 502,
  },
  {
    ids: ['rec-0345'],
    reason: 'a chat completion under the name of responses: it has no output of that format',
    throws: /an answer without content/,
    status: 502,
  },
]

/** Charges that differ from the upstream's counts of the one requested answer. */
interface ChargeException extends Cells {
  readonly expectedCharge: 'nothing' | 'an estimate' | 'all counts'
}
const CHARGE_EXCEPTIONS: readonly ChargeException[] = [
  {
    ids: ['rec-0102'],
    reason: 'the prompt was blocked, and its usage holds no number',
    expectedCharge: 'an estimate',
  },
  {
    ids: ['rec-0345'],
    reason: 'a chat completion under the name of responses: an attempt that failed',
    expectedCharge: 'nothing',
  },
  {
    ids: ['rec-0162', 'rec-0164'],
    reason: 'a background response: no usage yet',
    cells: 'own',
    expectedCharge: 'an estimate',
  },
  {
    ids: ['rec-0344'],
    reason: 'it ends in an error after its first text, without usage',
    cells: 'own',
    expectedCharge: 'an estimate',
  },
  {
    ids: ['rec-0162', 'rec-0164', 'rec-0262', 'rec-0344'],
    reason: 'an error before its first text',
    cells: 'crossed',
    expectedCharge: 'nothing',
  },
  {
    ids: ['rec-0277'],
    reason: 'an error before its first text',
    expectedCharge: 'nothing',
  },
  {
    ids: ['rec-0278', 'rec-0322', 'rec-0326', 'rec-0327'],
    reason: 'error 400',
    expectedCharge: 'nothing',
  },
  {
    ids: [
      'rec-0236',
      'rec-0245',
      'rec-0248',
      'rec-0250',
      'rec-0251',
      'rec-0299',
      'rec-0309',
      'rec-0348',
    ],
    reason: 'several answers in one stream that passes unchanged: all of them are charged',
    cells: 'own',
    expectedCharge: 'all counts',
  },
]

const appliesTo = ({ ids, cells }: Cells, client: string, { id, format }: Recording): boolean => {
  if (!ids.includes(id)) return false
  const own = client === recordedFormat(format)
  if (cells === 'own' || cells === 'crossed') return own === (cells === 'own')
  return cells === undefined || cells.includes(client)
}
/** The exception for this client and recording, if there is one. */
export const exceptionOf = (client: string, recording: Recording): Exception | undefined =>
  EXCEPTIONS.find(each => appliesTo(each, client, recording))
export const chargeExceptionOf = (
  client: string,
  recording: Recording,
): ChargeException | undefined => CHARGE_EXCEPTIONS.find(each => appliesTo(each, client, recording))

/** One line for each exception, sorted by recording. */
export const exceptionLines = (): readonly string[] =>
  [
    ...EXCEPTIONS.map(each => ({ ...each, what: each.throws ? 'an error' : 'another answer' })),
    ...CHARGE_EXCEPTIONS.map(each => ({ ...each, what: `charged ${each.expectedCharge}` })),
  ]
    .flatMap(({ ids, cells = 'all', what, reason }) =>
      ids.map(id => `${id}, ${cells} cells, ${what}: ${reason}`),
    )
    .sort()
