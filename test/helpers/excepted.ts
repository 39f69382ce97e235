/** Recordings that cannot be told everywhere as they are, each with the cells it is about and the reason. What its user reads or
 *  catches there is judged all the same. */
import { events, string } from './loose.ts'
import type { Reading } from './reading.ts'
import { type Recording, recordedFormat } from './recorded.ts'

interface Where {
  readonly ids: readonly string[]
  readonly reason: string
  /** The clients it is about; without it: all. */
  readonly cells?: 'own' | 'crossed' | readonly string[]
}
interface Exception extends Where {
  /** What their user catches, */
  readonly throws?: RegExp
  /** with this status, if it has one. */
  readonly status?: number
  /** or reads, in place of what was recorded. */
  readonly told?: (reading: Reading, recording: Recording) => Reading
}

const input = ({ calls, ...rest }: Reading): Reading => ({
  ...rest,
  calls: calls.map(([name, given]) => [name, { input: given }]),
})
const pieces = (reading: Reading, { response_body: body }: Recording): Reading => {
  const deltas = events(body).filter(({ type }) => type === 'response.output_text.delta')
  const text = deltas.map(({ delta }) => string(delta)).join('')
  return { ...reading, text: text + reading.text.slice(text.length) }
}

const EXCEPTIONS: readonly Exception[] = [
  {
    ids: ['rec-0162', 'rec-0164'],
    reason:
      'answered in the background: there is no answer yet, and only its own format can say so',
    cells: 'crossed',
    throws: /queued/,
    status: 502,
  },
  {
    ids: ['rec-0277'],
    reason: "the upstream's own error, in the middle of its stream",
    throws: /exceeded your current quota/,
    status: 429,
  },
  {
    ids: ['rec-0278', 'rec-0327'],
    reason: 'refused with a 400: the quota is used up',
    throws: /exceeded your current quota/,
    status: 400,
  },
  {
    ids: ['rec-0322', 'rec-0326'],
    reason: 'refused with a 400: a parameter is not supported',
    throws: /Unsupported parameter/,
    status: 400,
  },
  {
    ids: ['rec-0377'],
    reason: 'calls of tools that xAI runs itself, under the name of its client’s own',
    cells: 'crossed',
    told: reading => ({ ...reading, calls: [], finish: 'end' }),
  },
  {
    ids: ['rec-0275', 'rec-0276'],
    reason: 'tools called with free text: these formats have objects only',
    cells: ['anthropic-messages', 'google-gemini'],
    told: input,
  },
  {
    ids: ['rec-0303'],
    reason: 'its pieces were shortened by whoever recorded it: the end adds what is longer',
    cells: 'crossed',
    told: pieces,
  },
  {
    ids: ['rec-0236', 'rec-0245', 'rec-0248', 'rec-0250', 'rec-0251', 'rec-0261', 'rec-0262'],
    reason: 'several messages in one stream: its own SDK refuses the second message_start',
    cells: 'own',
    throws: /Unexpected event order/,
  },
  {
    ids: ['rec-0262'],
    reason: 'a message spliced into the middle of another: which words are whose cannot be told',
    cells: 'crossed',
    throws: /interleaved too many parts/,
    status: 502,
  },
  {
    ids: ['rec-0344'],
    reason:
      'a stream of chat completions under the name of responses: it never has an end of theirs',
    throws: /before it was complete/,
    status: 502,
  },
]

/** What is charged where it is not what the upstream counted of the one answer that was asked for. */
interface Uncounted extends Where {
  readonly charged: 'nothing' | 'an estimate' | 'all counts'
}
const UNCOUNTED: readonly Uncounted[] = [
  {
    ids: ['rec-0102'],
    reason: 'the prompt was blocked, and its counts hold no number',
    charged: 'an estimate',
  },
  {
    ids: ['rec-0345'],
    reason: 'a chat completion under the name of responses: it has no counts of theirs',
    charged: 'an estimate',
  },
  {
    ids: ['rec-0162', 'rec-0164'],
    reason: 'answered in the background: nothing is counted yet',
    cells: 'own',
    charged: 'an estimate',
  },
  {
    ids: ['rec-0277', 'rec-0344'],
    reason: 'it ends in an error behind its first words, without counts',
    cells: 'own',
    charged: 'an estimate',
  },
  {
    ids: ['rec-0162', 'rec-0164', 'rec-0262', 'rec-0277', 'rec-0344'],
    reason: 'an error before its first word',
    cells: 'crossed',
    charged: 'nothing',
  },
  {
    ids: ['rec-0278', 'rec-0322', 'rec-0326', 'rec-0327'],
    reason: 'refused with a 400',
    charged: 'nothing',
  },
  {
    ids: [
      ...['rec-0236', 'rec-0245', 'rec-0248', 'rec-0250', 'rec-0251'],
      ...['rec-0299', 'rec-0309', 'rec-0348'],
    ],
    reason: 'several answers in one stream that passes as it is: all of them are charged',
    cells: 'own',
    charged: 'all counts',
  },
]

const isAbout = ({ ids, cells }: Where, client: string, { id, format }: Recording): boolean => {
  if (!ids.includes(id)) return false
  const own = client === recordedFormat(format)
  if (cells === 'own' || cells === 'crossed') return own === (cells === 'own')
  return cells === undefined || cells.includes(client)
}
/** What it is an exception to, if it is one. */
export const exceptionOf = (client: string, recording: Recording): Exception | undefined =>
  EXCEPTIONS.find(each => isAbout(each, client, recording))
export const uncountedOf = (client: string, recording: Recording): Uncounted | undefined =>
  UNCOUNTED.find(each => isAbout(each, client, recording))

/** A line for each of them, in the order of their recordings. */
export const saidExceptions = (): readonly string[] =>
  [
    ...EXCEPTIONS.map(each => ({ ...each, what: each.throws ? 'an error' : 'other words' })),
    ...UNCOUNTED.map(each => ({ ...each, what: `charged ${each.charged}` })),
  ]
    .flatMap(({ ids, cells = 'all', what, reason }) =>
      ids.map(id => `${id}, ${cells} cells, ${what}: ${reason}`),
    )
    .sort()
