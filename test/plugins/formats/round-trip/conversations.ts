/** Accepted differences of conversations after a round trip that are not reported as dropped, each
 *  with its reason. */
import { encodeCallId, PORTABLE_ID } from '../../../../plugins/formats/hub/call-id.ts'
import type { Media } from '../../../../plugins/formats/hub/content.ts'
import { JSON_REQUEST } from '../../../../plugins/formats/hub/form-request.ts'
import { describeHostedCall } from '../../../../plugins/formats/hub/hosted-call-text.ts'
import { mergeTexts, type Piece } from './prompt-facts.ts'
import { CHAT, GEMINI, involves, MESSAGES, RESPONSES, type RouteResult } from './route.ts'

interface ConversationReason {
  readonly reason: string
  applies(way: RouteResult): boolean
  /** Normalises the pieces, so that both forms become equal. */
  normalise(pieces: readonly Piece[], way: RouteResult): readonly Piece[]
}
const changePieces =
  (change: (piece: Piece) => readonly Piece[]) =>
  (pieces: readonly Piece[]): readonly Piece[] =>
    mergeTexts(pieces.flatMap(change))
const changeText =
  (role: Piece['role'], change: (text: string) => string) =>
  (pieces: readonly Piece[]): readonly Piece[] =>
    changePieces(piece =>
      piece.type === 'text' && piece.role === role
        ? [{ ...piece, text: change(piece.text) }]
        : [piece],
    )(pieces)

export const CONVERSATION_REASONS: readonly ConversationReason[] = [
  {
    reason: 'other providers receive hosted calls as text',
    applies: ({ from, to }) => from !== to,
    normalise: (pieces, { dropped }) =>
      changePieces(piece => {
        if (piece.type !== 'hostedCall') return [piece]
        const droppedNames: string[] = []
        const text = describeHostedCall(piece.work, { add: field => void droppedNames.push(field) })
        if (text) return [{ role: piece.role, type: 'text', text: text.text }]
        return droppedNames.every(field => dropped.includes(field)) ? [] : [piece]
      })(pieces),
  },
  {
    reason: 'later system turns become user text in formats without them',
    applies: way => involves(way, GEMINI) || (involves(way, MESSAGES) && !way.isCapable),
    normalise: pieces => {
      const start = pieces.findIndex(({ role }) => role !== 'system')
      const asUserTurns = pieces.map(
        (piece, index): Piece =>
          index > start && start >= 0 && piece.role === 'system'
            ? { ...piece, role: 'user' }
            : piece,
      )
      return changeText('user', text => text.replace(/<\/?system>/g, ''))(asUserTurns)
    },
  },
  {
    reason: 'a refusal becomes text in formats without refusals',
    applies: way => involves(way, MESSAGES, GEMINI),
    normalise: changePieces(piece =>
      piece.type === 'refusal' ? [{ ...piece, type: 'text' }] : [piece],
    ),
  },
  {
    reason: 'media of a result move to a user message if results, or failed ones, hold no media',
    applies: way => involves(way, CHAT, MESSAGES) || (involves(way, GEMINI) && !way.isCapable),
    normalise: pieces => mergeTexts(mediaAfterResults(pieces)),
  },
  {
    reason: 'a failed tool is reported in the text of its result',
    applies: way => involves(way, CHAT, RESPONSES),
    normalise: changePieces(piece =>
      piece.type === 'result'
        ? [{ ...piece, text: piece.text.replace(/^(Error: ?)+/, '') }]
        : [piece],
    ),
  },
  {
    reason: 'Google results are objects: JSON is parsed, other text becomes a member',
    applies: way => involves(way, GEMINI),
    normalise: changePieces(piece =>
      piece.type === 'result' ? [{ ...piece, text: unwrapResult(piece.text) }] : [piece],
    ),
  },
  {
    reason: 'a text document becomes text if the format accepts no text files',
    applies: way => involves(way, CHAT, RESPONSES, MESSAGES, GEMINI),
    normalise: changePieces(piece => {
      if (piece.type !== 'media') return [piece]
      const text = textOf(piece.media)
      return text === undefined ? [piece] : [{ role: piece.role, type: 'text', text }]
    }),
  },
  {
    reason: 'responses send a document’s description as user text',
    applies: ({ descriptions, ...way }) => involves(way, RESPONSES) && descriptions.length > 0,
    normalise: (pieces, { descriptions }) =>
      changeText('user', text => descriptions.reduce((rest, each) => rest.replace(each, ''), text))(
        pieces,
      ),
  },
  {
    reason: 'an id that is too long is replaced by its digest',
    applies: () => true,
    normalise: changePieces(piece =>
      'id' in piece ? [{ ...piece, id: shortenId(piece.id) }] : [piece],
    ),
  },
  {
    reason: 'messages require a leading user message; a dot is added',
    applies: way => involves(way, MESSAGES),
    normalise: pieces => {
      const start = pieces.findIndex(({ role }) => role !== 'system')
      const first = pieces[start]
      return first?.type === 'text' && first.role === 'user' && first.text === '.'
        ? pieces.filter((_, index) => index !== start)
        : pieces
    },
  },
  {
    reason: 'instructions are beside JSON mode, or replace structured output',
    applies: way => involves(way, CHAT, RESPONSES, MESSAGES, GEMINI),
    normalise: changeText('system', text =>
      text.replaceAll(JSON_REQUEST, '').replace(/Answer with JSON that fits this schema, .*$/s, ''),
    ),
  },
  {
    reason: 'a prefill is followed by a user message, and reported as dropped',
    applies: ({ dropped }) => dropped.includes('prefill'),
    normalise: pieces => {
      const last = pieces.at(-1)
      return last?.role === 'user' && last.type === 'text' && last.text === 'Continue.'
        ? pieces.slice(0, -1)
        : pieces
    },
  },
]
const RESULT_MEMBERS = new Set(['output', 'result', 'return_value', 'error'])
const shortenId = (id: string): string =>
  id.length > PORTABLE_ID.maxLength ? encodeCallId(id, PORTABLE_ID) : id
const unwrapResult = (text: string): string => {
  try {
    const value = JSON.parse(text)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return text
    const [only = '', ...others] = Object.keys(value)
    if (only === '') return ''
    const inner = others.length === 0 && RESULT_MEMBERS.has(only) ? value[only] : value
    return typeof inner === 'string' ? inner : JSON.stringify(inner)
  } catch {
    return text
  }
}
const mediaAfterResults = (pieces: readonly Piece[]): readonly Piece[] => {
  const ordered: Piece[] = []
  let waiting: Piece[] = []
  const flush = (): void => {
    ordered.push(...waiting)
    waiting = []
  }
  for (const piece of pieces) {
    if (piece.type === 'result') {
      const text = piece.text.replace(/\[\w+ below\]/g, '')
      waiting.push(...piece.media.map((media): Piece => ({ role: 'user', type: 'media', media })))
      ordered.push({ ...piece, text, media: [] })
      continue
    }
    flush()
    const isLabel = piece.type === 'text' && /^Returned by .*:$/.test(piece.text)
    if (!isLabel) ordered.push(piece)
  }
  flush()
  return ordered
}
const textOf = ({ kind, source }: Media): string | undefined => {
  if (kind !== 'document') return undefined
  if (source.type === 'text') return source.text
  if (source.type !== 'data' || !source.mime.startsWith('text/')) return undefined
  return Buffer.from(source.data, 'base64').toString()
}
