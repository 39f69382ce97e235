/** Accepted differences of facts after a round trip that are not reported as dropped, each with its
 *  reason. */
import type { Json } from '../../engine/plugin.ts'
import { by, CHAT, GEMINI, MESSAGES, RESPONSES, type Way } from './trip-way.ts'

export interface Change {
  readonly fact: string
  readonly before: Json | undefined
  readonly after: Json | undefined
  readonly asked: ReadonlyMap<string, Json>
  readonly got: ReadonlyMap<string, Json>
}
interface ChangeReason {
  readonly reason: string
  readonly fact: RegExp
  holds(change: Change, way: Way): boolean
}
const added = ({ before }: Change): boolean => before === undefined
const gone = ({ after }: Change): boolean => after === undefined
const callable = ({ asked }: Change): boolean =>
  [...asked.keys()].some(fact => fact.startsWith('tool.')) &&
  Object(asked.get('choice')).type !== 'none'
const list = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : [])
const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)
const closed = (schema: Json | undefined): Json | undefined =>
  schema === undefined
    ? undefined
    : JSON.parse(JSON.stringify(schema).replace(/,?"additionalProperties":false/g, ''))

export const CHANGES: readonly ChangeReason[] = [
  {
    reason: 'messages require max_tokens, so a default is written',
    fact: /^settings\.limit$/,
    holds: (change, way) => added(change) && by(way, MESSAGES),
  },
  {
    reason: 'responses require a limit of at least sixteen tokens',
    fact: /^settings\.limit$/,
    holds: ({ before, after }, way) => Number(before) < 16 && after === 16 && by(way, RESPONSES),
  },
  {
    reason: 'targets express thinking as effort, as a budget or as adaptive',
    fact: /^thinking\.(mode|effort|budget)$/,
    holds: ({ asked, got }) => {
      const [before, after] = [asked.get('thinking.mode'), got.get('thinking.mode')]
      return before !== undefined && after !== undefined && (before === 'off') === (after === 'off')
    },
  },
  {
    reason: 'adaptive thinking is the default of chat',
    fact: /^thinking\./,
    holds: ({ asked, got }, way) =>
      asked.get('thinking.mode') === 'adaptive' && !got.has('thinking.mode') && by(way, CHAT),
  },
  {
    reason: 'responses show no thoughts by default',
    fact: /^thinking\.show$/,
    holds: (change, way) => change.before === false && gone(change) && by(way, RESPONSES),
  },
  {
    reason: 'sequential calls mean nothing without callable tools',
    fact: /^settings\.parallel$/,
    holds: (change, way) => gone(change) && by(way, MESSAGES) && !callable(change),
  },
  {
    reason: 'messages require declarations for the tools of earlier calls',
    fact: /^(choice|tool\..*)$/,
    holds: (change, way) =>
      added(change) &&
      by(way, MESSAGES) &&
      ![...change.asked.keys()].some(fact => fact.startsWith('tool.')) &&
      same(change.got.get('choice'), { type: 'none' }),
  },
  {
    reason: 'chat has no setting for showing thoughts; other formats have a default',
    fact: /^thinking\.show$/,
    holds: (change, way) => by(way, CHAT) || added(change) || change.before === true,
  },
  {
    reason: 'thinking need not be turned off on a model without thinking',
    fact: /^thinking\./,
    holds: ({ asked, got }, way) =>
      asked.get('thinking.mode') === 'off' &&
      !got.has('thinking.mode') &&
      by(way, GEMINI) &&
      !way.able,
  },
  {
    reason: 'thoughts return only to the provider that signed them',
    fact: /^turns\.thoughts$/,
    holds: ({ before, after }, { from, to }) =>
      same(
        list(after),
        from === to
          ? list(before).filter(each => Object(Object(each).payload).origin === from)
          : [],
      ),
  },
  {
    reason: 'opaque payloads are sent to their origin only',
    fact: /^turns\.payloads$/,
    holds: (change, { from, to }) => gone(change) && from !== to,
  },
  {
    reason: 'chat and responses report a failed tool in the text of its result',
    fact: /^turns\.failed$/,
    holds: (change, way) => gone(change) && by(way, CHAT, RESPONSES),
  },
  {
    reason: 'messages have no JSON mode: instructions replace it',
    fact: /^form\.type$/,
    holds: ({ before, after }, way) =>
      before === 'json' && after === undefined && by(way, MESSAGES),
  },
  {
    reason: 'structured output of messages and Google is always strict and has no name',
    fact: /^form\.(name|strict)$/,
    holds: (_, way) => by(way, MESSAGES, GEMINI),
  },
  {
    reason: 'some formats move the description and closed objects into the schema',
    fact: /^form\.(description|schema)$/,
    holds: ({ fact, before, after, asked }, way) => {
      if (!by(way, MESSAGES, GEMINI)) return false
      if (fact === 'form.description') return after === undefined
      const description = asked.get('form.description')
      const told = Object(before).description ?? description
      return same(closed(after), closed({ ...Object(before), ...(told && { description: told }) }))
    },
  },
  {
    reason: 'responses and chat name unnamed structured output `answer`',
    fact: /^form\.name$/,
    holds: change => added(change) && change.after === 'answer',
  },
  {
    reason: 'responses and messages require a schema for every function',
    fact: /^tool\.schema /,
    holds: ({ before, after }, way) =>
      before === undefined &&
      by(way, RESPONSES, MESSAGES) &&
      same(after, { type: 'object', properties: {} }),
  },
  {
    reason: 'hosted tools have another name in each format',
    fact: /^tool\.clientName /,
    holds: change => !added(change) && !gone(change),
  },
  {
    reason: 'Google enforces the schemas of all functions or of none',
    fact: /^tool\.strict /,
    holds: ({ after }, way) => after === true && by(way, GEMINI) && way.able,
  },
  {
    reason: 'Google always enforces the schemas of forced calls',
    fact: /^tool\.strict /,
    holds: ({ after, asked }, way) =>
      after === undefined && by(way, GEMINI) && way.able && asked.has('choice'),
  },
  {
    reason: 'formats without a choice among tools omit the other tools',
    fact: /^(choice|tool\..*)$/,
    holds: ({ fact, before, after, asked }, way) => {
      const choice = Object(asked.get('choice')) as {
        type?: string
        names?: string[]
        mode?: string
      }
      if (choice.type !== 'some' || !by(way, MESSAGES, GEMINI)) return false
      if (fact !== 'choice')
        return after === undefined && !choice.names?.includes(fact.replace(/^\S+ /, ''))
      return same(after, choice.mode === 'required' ? { type: 'required' } : undefined) && !!before
    },
  },
  {
    reason: 'a required choice among one tool equals a choice of that tool',
    fact: /^choice$/,
    holds: ({ before, after }, way) => {
      const { type, names = [], mode } = Object(before) as Record<string, string[] & string>
      if (type !== 'some' || mode !== 'required' || names?.length !== 1) return false
      return same(after, { type: 'tool', name: names[0] }) && by(way, GEMINI)
    },
  },
  {
    reason: 'inline files always have a name in chat and responses',
    fact: /^media\.name$/,
    holds: ({ before, after }) =>
      list(after).some(name => /^document\.\w+$/.test(`${name}`)) &&
      same(
        list(before),
        list(after).filter(name => !/^document\.\w+$/.test(`${name}`)),
      ),
  },
  {
    reason: 'responses send a document’s description as text before it',
    fact: /^media\.context$/,
    holds: (change, way) => gone(change) && by(way, RESPONSES),
  },
]
