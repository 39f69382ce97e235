/** Why a fact may come back from a trip other than it went, with nothing named: each with its reason. */
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
    reason: 'messages want a bound, so one is written where none was asked for',
    fact: /^settings\.limit$/,
    holds: (change, way) => added(change) && by(way, MESSAGES),
  },
  {
    reason: 'a bound below sixteen tokens is refused by responses',
    fact: /^settings\.limit$/,
    holds: ({ before, after }, way) => Number(before) < 16 && after === 16 && by(way, RESPONSES),
  },
  {
    reason: 'depth of thought is measured in words, in tokens or left to the model, by the target',
    fact: /^thinking\.(mode|effort|budget)$/,
    holds: ({ asked, got }) => {
      const [before, after] = [asked.get('thinking.mode'), got.get('thinking.mode')]
      return before !== undefined && after !== undefined && (before === 'off') === (after === 'off')
    },
  },
  {
    reason: 'thought as the model sees fit is what chat asks for by saying nothing',
    fact: /^thinking\./,
    holds: ({ asked, got }, way) =>
      asked.get('thinking.mode') === 'adaptive' && !got.has('thinking.mode') && by(way, CHAT),
  },
  {
    reason: 'responses show no thoughts unless they are told to',
    fact: /^thinking\.show$/,
    holds: (change, way) => change.before === false && gone(change) && by(way, RESPONSES),
  },
  {
    reason: 'one call at a time says nothing where none can be made',
    fact: /^settings\.parallel$/,
    holds: (change, way) => gone(change) && by(way, MESSAGES) && !callable(change),
  },
  {
    reason: 'messages want the tools of earlier calls declared, though none may be called any more',
    fact: /^(choice|tool\..*)$/,
    holds: (change, way) =>
      added(change) &&
      by(way, MESSAGES) &&
      ![...change.asked.keys()].some(fact => fact.startsWith('tool.')) &&
      same(change.got.get('choice'), { type: 'none' }),
  },
  {
    reason: 'whether thoughts are shown has no word in chat, and a usual one elsewhere',
    fact: /^thinking\.show$/,
    holds: (change, way) => by(way, CHAT) || added(change) || change.before === true,
  },
  {
    reason: 'a model that does not think need not be told not to',
    fact: /^thinking\./,
    holds: ({ asked, got }, way) =>
      asked.get('thinking.mode') === 'off' &&
      !got.has('thinking.mode') &&
      by(way, GEMINI) &&
      !way.able,
  },
  {
    reason: 'thoughts are read by the provider that sealed them, and by nobody else',
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
    reason: 'what one provider signed or kept for itself goes to no other',
    fact: /^turns\.payloads$/,
    holds: (change, { from, to }) => gone(change) && from !== to,
  },
  {
    reason: 'chat and responses have no flag for a tool that failed: it is said in its result',
    fact: /^turns\.failed$/,
    holds: (change, way) => gone(change) && by(way, CHAT, RESPONSES),
  },
  {
    reason: 'there is no json mode in messages: it is asked for in words',
    fact: /^form\.type$/,
    holds: ({ before, after }, way) =>
      before === 'json' && after === undefined && by(way, MESSAGES),
  },
  {
    reason: 'a form of messages or google is held to, and its name is a label for nobody else',
    fact: /^form\.(name|strict)$/,
    holds: (_, way) => by(way, MESSAGES, GEMINI),
  },
  {
    reason: 'what a form is about, and that its objects are closed, is said in its schema by some',
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
    reason: 'responses and chat call a form without a name `answer`',
    fact: /^form\.name$/,
    holds: change => added(change) && change.after === 'answer',
  },
  {
    reason: 'responses and messages want a schema of every function',
    fact: /^tool\.schema /,
    holds: ({ before, after }, way) =>
      before === undefined &&
      by(way, RESPONSES, MESSAGES) &&
      same(after, { type: 'object', properties: {} }),
  },
  {
    reason: 'a tool that whoever answers runs is asked for by the name it has there',
    fact: /^tool\.clientName /,
    holds: change => !added(change) && !gone(change),
  },
  {
    reason: 'google holds all functions to their schemas, or none',
    fact: /^tool\.strict /,
    holds: ({ after }, way) => after === true && by(way, GEMINI) && way.able,
  },
  {
    reason: 'calls that are forced are held to their schemas by google in any case',
    fact: /^tool\.strict /,
    holds: ({ after, asked }, way) =>
      after === undefined && by(way, GEMINI) && way.able && asked.has('choice'),
  },
  {
    reason: 'a choice among some tools offers no others where it cannot be said',
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
    reason: 'one of one is that one',
    fact: /^choice$/,
    holds: ({ before, after }, way) => {
      const { type, names = [], mode } = Object(before) as Record<string, string[] & string>
      if (type !== 'some' || mode !== 'required' || names?.length !== 1) return false
      return same(after, { type: 'tool', name: names[0] }) && by(way, GEMINI)
    },
  },
  {
    reason: 'a file that comes with its bytes has a name in chat and responses, whatever it is',
    fact: /^media\.name$/,
    holds: ({ before, after }) =>
      list(after).some(name => /^document\.\w+$/.test(`${name}`)) &&
      same(
        list(before),
        list(after).filter(name => !/^document\.\w+$/.test(`${name}`)),
      ),
  },
  {
    reason: 'what a document is about stands before it as a text in responses',
    fact: /^media\.context$/,
    holds: (change, way) => gone(change) && by(way, RESPONSES),
  },
]
