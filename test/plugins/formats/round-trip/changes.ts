/** Accepted differences of facts after a round trip that are not reported as dropped, each with its
 *  reason. */
import type { Json } from '../../../../engine/plugin.ts'
import { subsetOf } from '../../../../plugins/formats/closed-schema.ts'
import { objectSchema } from '../../../../plugins/formats/hub/root-schema.ts'
import { CHAT, GEMINI, involves, MESSAGES, RESPONSES, type RouteResult } from './route.ts'

export interface Change {
  readonly fact: string
  readonly before: Json | undefined
  readonly after: Json | undefined
  readonly source: ReadonlyMap<string, Json>
  readonly result: ReadonlyMap<string, Json>
}
interface ChangeReason {
  readonly reason: string
  readonly fact: RegExp
  applies(change: Change, way: RouteResult): boolean
}
const isAdded = ({ before }: Change): boolean => before === undefined
const isRemoved = ({ after }: Change): boolean => after === undefined
/** A tool that a target left out is reported as such. */
const hasCallableTools = ({ source, result }: Change): boolean =>
  [source, result].every(facts => [...facts.keys()].some(fact => fact.startsWith('tool.'))) &&
  Object(source.get('choice')).type !== 'none' &&
  Object(result.get('choice')).type !== 'none'
const list = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : [])
const isEqual = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)
/** The members that only closed objects have. */
const CLOSING: Readonly<Record<string, string>> = {
  additionalProperties: 'false',
  required: '[]',
  properties: '{}',
}
/** The schema without what closes its objects, its members in order. */
const withoutClosing = (schema: Json | undefined): Json | undefined => {
  if (Array.isArray(schema)) return schema.map(each => withoutClosing(each) as Json)
  if (typeof schema !== 'object' || schema === null) return schema
  const members = Object.entries(schema).filter(
    ([name, value]) => CLOSING[name] !== JSON.stringify(value),
  )
  const sorted = members.toSorted(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(sorted.map(([name, value]) => [name, withoutClosing(value) as Json]))
}

export const CHANGES: readonly ChangeReason[] = [
  {
    reason: 'messages require max_tokens, so a default is written',
    fact: /^settings\.limit$/,
    applies: (change, way) => isAdded(change) && involves(way, MESSAGES),
  },
  {
    reason: 'messages take temperature or top_p, and a top_p of 1 asks for nothing',
    fact: /^settings\.topP$/,
    applies: ({ before, after }, way) =>
      before === 1 && after === undefined && involves(way, MESSAGES),
  },
  {
    reason: 'responses require a limit of at least sixteen tokens',
    fact: /^settings\.limit$/,
    applies: ({ before, after }, way) =>
      Number(before) < 16 && after === 16 && involves(way, RESPONSES),
  },
  {
    reason: 'targets express thinking as effort, as a budget or as adaptive',
    fact: /^thinking\.(mode|effort|budget)$/,
    applies: ({ source, result }) => {
      const [before, after] = [source.get('thinking.mode'), result.get('thinking.mode')]
      return before !== undefined && after !== undefined && (before === 'off') === (after === 'off')
    },
  },
  {
    reason: 'adaptive thinking is the default of chat',
    fact: /^thinking\./,
    applies: ({ source, result }, way) =>
      source.get('thinking.mode') === 'adaptive' &&
      !result.has('thinking.mode') &&
      involves(way, CHAT),
  },
  {
    reason: 'responses show no thoughts by default',
    fact: /^thinking\.show$/,
    applies: (change, way) =>
      change.before === false && change.after !== false && involves(way, RESPONSES),
  },
  {
    reason: 'sequential calls mean nothing without callable tools',
    fact: /^settings\.parallel$/,
    applies: (change, way) =>
      isRemoved(change) && involves(way, MESSAGES) && !hasCallableTools(change),
  },
  {
    reason: 'messages require declarations for the tools of earlier calls',
    fact: /^(choice|tool\..*)$/,
    applies: (change, way) =>
      isAdded(change) &&
      involves(way, MESSAGES) &&
      ![...change.source.keys()].some(fact => /^tool\.(?!.* web_search$)/.test(fact)) &&
      isEqual(change.result.get('choice'), { type: 'none' }),
  },
  {
    reason: 'Google receives no hosted tools if no tool may be called',
    fact: /^tool\..* web_search$/,
    applies: (change, way) =>
      isRemoved(change) &&
      involves(way, GEMINI) &&
      isEqual(change.source.get('choice'), { type: 'none' }),
  },
  {
    reason: 'chat has no setting for showing thoughts; other formats have a default',
    fact: /^thinking\.show$/,
    applies: (change, way) => involves(way, CHAT) || isAdded(change) || change.before === true,
  },
  {
    reason: 'thinking need not be turned off on a model without thinking',
    fact: /^thinking\./,
    applies: ({ source, result }, way) =>
      source.get('thinking.mode') === 'off' &&
      !result.has('thinking.mode') &&
      involves(way, GEMINI) &&
      !way.isCapable,
  },
  {
    reason: 'thoughts return only to the provider that signed them',
    fact: /^turns\.thoughts$/,
    applies: ({ before, after }, { from, to }) =>
      isEqual(
        list(after),
        from === to
          ? list(before).filter(each => Object(Object(each).payload).origin === from)
          : [],
      ),
  },
  {
    reason: 'opaque payloads are sent to their origin only',
    fact: /^turns\.payloads$/,
    applies: (change, { from, to }) => isRemoved(change) && from !== to,
  },
  {
    reason: 'chat and responses report a failed tool in the text of its result',
    fact: /^turns\.failed$/,
    applies: (change, way) => isRemoved(change) && involves(way, CHAT, RESPONSES),
  },
  {
    reason: 'Google takes no structured output beside tools before 3.x: instructions replace it',
    fact: /^form\.(type|schema)$/,
    applies: (change, way) =>
      isRemoved(change) &&
      involves(way, GEMINI) &&
      !way.isCapable &&
      [...change.source.keys()].some(fact => fact.startsWith('tool.')),
  },
  {
    reason: 'messages have no JSON mode: instructions replace it',
    fact: /^form\.type$/,
    applies: ({ before, after }, way) =>
      before === 'json' && after === undefined && involves(way, MESSAGES),
  },
  {
    reason: 'structured output of messages and Google is always strict and has no name',
    fact: /^form\.(name|strict)$/,
    applies: (_, way) => involves(way, MESSAGES, GEMINI),
  },
  {
    reason: 'some formats move the description and closed objects into the schema',
    fact: /^form\.(description|schema)$/,
    applies: ({ fact, before, after, source }, way) => {
      if (fact === 'form.schema' && isEqual(withoutClosing(after), withoutClosing(before)))
        return true
      if (!involves(way, MESSAGES, GEMINI)) return false
      if (fact === 'form.description') return after === undefined
      const description = source.get('form.description')
      const schemaDescription = Object(before).description ?? description
      return isEqual(
        withoutClosing(after),
        withoutClosing({
          ...Object(before),
          ...(schemaDescription && { description: schemaDescription }),
        }),
      )
    },
  },
  {
    reason: 'messages enforce a subset of schemas: other constraints become descriptions',
    fact: /^form\.schema$/,
    applies: ({ before = null, after }, way) =>
      involves(way, MESSAGES) &&
      isEqual(withoutClosing(after), withoutClosing(subsetOf(before).schema)),
  },
  {
    reason: 'responses and chat name unnamed structured output `answer`',
    fact: /^form\.name$/,
    applies: change => isAdded(change) && change.after === 'answer',
  },
  {
    reason: 'responses and messages require a schema for every function',
    fact: /^tool\.schema /,
    applies: ({ before, after }, way) =>
      before === undefined &&
      involves(way, RESPONSES, MESSAGES) &&
      isEqual(after, { type: 'object', properties: {} }),
  },
  {
    reason: 'schemas of strict functions are closed, and list what they require',
    fact: /^tool\.schema /,
    applies: ({ before = { type: 'object' }, after }) =>
      isEqual(withoutClosing(after), withoutClosing(before)),
  },
  {
    reason: 'what only the provider of a tool reads is written anew behind another format',
    fact: /^tool\.native /,
    applies: (change, { from, to }) =>
      from !== to || isEqual(withoutClosing(change.after), withoutClosing(change.before)),
  },
  {
    reason: 'a group is no more than names and descriptions to formats without groups',
    fact: /^tool\.(namespace|description) /,
    applies: ({ fact, before, after, source }, way) =>
      involves(way, RESPONSES) &&
      (fact.startsWith('tool.namespace')
        ? after === undefined
        : `${after}`.endsWith(`${before}`)) &&
      [...source.keys()].some(each => each.startsWith('tool.namespace')),
  },
  {
    reason: 'hosted tools have another name in each format',
    fact: /^tool\.clientName /,
    applies: change => !isAdded(change) && !isRemoved(change),
  },
  {
    reason: 'Google enforces the schemas of all functions or of none',
    fact: /^tool\.strict /,
    applies: ({ after }, way) => after === true && involves(way, GEMINI) && way.isCapable,
  },
  {
    reason: 'Google always enforces the schemas of forced calls',
    fact: /^tool\.strict /,
    applies: ({ after, source }, way) =>
      after === undefined && involves(way, GEMINI) && way.isCapable && source.has('choice'),
  },
  {
    reason: 'formats without a choice among tools omit the other tools',
    fact: /^(choice|tool\..*)$/,
    applies: ({ fact, before, after, source }, way) => {
      const choice = Object(source.get('choice')) as {
        type?: string
        names?: string[]
        mode?: string
      }
      if (choice.type !== 'some' || !involves(way, MESSAGES, GEMINI)) return false
      if (fact !== 'choice')
        return after === undefined && !choice.names?.includes(fact.replace(/^\S+ /, ''))
      return (
        isEqual(after, choice.mode === 'required' ? { type: 'required' } : undefined) && !!before
      )
    },
  },
  {
    reason: 'a required choice among one tool equals a choice of that tool',
    fact: /^choice$/,
    applies: ({ before, after }, way) => {
      const { type, names = [], mode } = Object(before) as Record<string, string[] & string>
      if (type !== 'some' || mode !== 'required' || names?.length !== 1) return false
      return isEqual(after, { type: 'tool', name: names[0] }) && involves(way, GEMINI)
    },
  },
  {
    reason: 'inline files always have a name in chat and responses',
    fact: /^media\.name$/,
    applies: ({ before, after }) =>
      list(after).some(name => /^document\.\w+$/.test(`${name}`)) &&
      isEqual(
        list(before),
        list(after).filter(name => !/^document\.\w+$/.test(`${name}`)),
      ),
  },
  {
    reason: 'responses send a document’s description as text before it',
    fact: /^media\.context$/,
    applies: (change, way) => isRemoved(change) && involves(way, RESPONSES),
  },
  {
    reason: 'the root of a schema becomes a plain object',
    fact: /^(form|tool)\.schema/,
    applies: ({ before, after }) =>
      isEqual(withoutClosing(after), withoutClosing(objectSchema(before))),
  },
]
