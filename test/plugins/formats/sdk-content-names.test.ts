/** Every member in the newest request types of the SDKs that may name content which is elsewhere
 *  bounds the input by the context, or is listed here with the reason why it names none. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import type { Json } from '../../../engine/plugin.ts'
import { mediaReferencesIn } from '../../../plugins/formats/media-references.ts'
import { BETA_TYPES, fileOf, REQUEST_TYPES, type Schema } from '../../laws/sdk-schemas.ts'

type Definitions = Readonly<Record<string, Schema>>

/** Names of members that may name content. */
const MAY_NAME =
  /^id$|ids?$|ur[il]s?$|file|container|reference|store|skill|cache|source|corp(?:us|ora)|snapshot|prompt|environment|session|conversation|thread|continuation|librar|collection|knowledge/i
/** Paths of members that name no content, with the reason. */
const NO_CONTENT: readonly (readonly [path: RegExp, reason: string])[] = [
  [
    /(?:call|tool|tool_use|caller|approval_request|tab|download)_id$/i,
    'pairs a call and its result',
  ],
  [
    /(?:_call|_result|_output|_request|_response|tool_use|function|custom)\}\.id$/,
    'the id of a call',
  ],
  [
    /\{(?:message|agent_message|reasoning|compaction|program|mcp_list_tools)\}\.id$/,
    'the item is here',
  ],
  [/\{(?:additional_tools|configuration_update|compaction_trigger)\}\.id$/, 'the item is here'],
  [/(?:tool_calls|SafetyChecks?|safety_checks)\.id$/, 'the id of a call'],
  [
    /(?:toolCall|toolResponse|function(?:Call|Response)|executableCode|codeExecutionResult)\.id$/,
    'the id of a call',
  ],
  [/annotations|citations|\.results?\.|\.action/, 'a source of an answer, whose text is here'],
  [/\.arguments\./, 'what the model called a tool with'],
  [/webhook/, 'the place of a notice'],
  [/\.voice\.id$/, 'a voice of the answer'],
  [/^\.agent_config/, 'an agent is bounded by the context whatever it reads'],
  [/\{(?:web_search_result|web_fetch_result|code_interpreter_call)\}/, 'its text is here'],
  [/(?:file_?name|agent_name|revised_prompt|source_?text)$/i, 'a name or a text'],
  [/prompt_cache|cache_(?:control|key|retention)|store$/, 'a setting'],
  [/\{mcp(?:_server)?\}|mcp_?servers/i, 'a server whose tools the model may call'],
  [/(?:user|user_profile|workspace)_id$/, 'names who asks'],
  [/diagnostics\.previous_message_id$/, 'compared, not read'],
  [/background_options\.|background\.continuation_id$/, 'adds no history'],
  [/response_format|generationConfig/, 'the place of an output'],
  [/browser|tab_opened|download_|tabs?\./, 'the state of a browser, as text'],
  [/search_result\}\.source$/, 'its text is here'],
  [/computer_?use.*environment$/i, 'a kind of computer'],
]

interface Named {
  readonly path: string
  readonly body: Json
}
/** One request for each member, with nothing else in it. */
const namesIn = (name: string, root: string): readonly Named[] => {
  const { definitions }: { readonly definitions: Definitions } = JSON.parse(
    readFileSync(fileOf(name), 'utf8'),
  )
  const names = new Map<string, Named>()
  const visited = new Set<string>()
  const resolve = ({ $ref }: Schema): string | undefined =>
    $ref && decodeURIComponent($ref.slice('#/definitions/'.length))
  const mayBeText = (schema: Schema, depth = 0): boolean => {
    if (depth > 6 || schema.enum || schema.const !== undefined) return false
    const ref = resolve(schema)
    if (ref !== undefined) return mayBeText(definitions[ref] ?? {}, depth + 1)
    if ([schema.type].flat().includes('string')) return true
    const variants = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])]
    return [...variants, ...(schema.items ? [schema.items] : [])].some(each =>
      mayBeText(each, depth + 1),
    )
  }
  const isList = (schema: Schema): boolean => {
    const ref = resolve(schema)
    if (ref !== undefined) return isList(definitions[ref] ?? {})
    const variants = schema.anyOf ?? [schema]
    return variants.every(({ type }) => type === 'array' || type === 'null')
  }
  const visit = (schema: Schema, path: string, wrap: (value: Json) => Json): void => {
    const ref = resolve(schema)
    if (ref !== undefined) {
      if (visited.has(ref)) return
      visited.add(ref)
      return visit(definitions[ref] ?? {}, path, wrap)
    }
    for (const each of [schema.anyOf, schema.oneOf, schema.allOf].flatMap(list => list ?? []))
      visit(each, path, wrap)
    if (schema.items) visit(schema.items, path, value => wrap([value]))
    const { type } = schema.properties ?? {}
    const kind = type?.const ?? (type?.enum?.length === 1 ? type.enum[0] : undefined)
    const holder = kind === undefined ? path : `${path}{${kind}}`
    for (const [member, value] of Object.entries(schema.properties ?? {})) {
      const inside = (child: Json): Json =>
        wrap({ ...(kind !== undefined && { type: kind }), [member]: child })
      const at = `${holder}.${member}`
      if (MAY_NAME.test(member) && mayBeText(value)) {
        const text = /ur[il]s?$/i.test(member) ? 'https://e.com/1' : 'x_1'
        names.set(at, { path: at, body: inside(isList(value) ? [text] : text) })
      }
      visit(value, at, inside)
    }
  }
  visit(definitions[root] ?? {}, '', value => value)
  return [...names.values()]
}

const used = new Set<RegExp>()
for (const [name, root] of Object.entries({ ...REQUEST_TYPES, ...BETA_TYPES }))
  t.test(`content by name: each member of ${name} is known`, async t => {
    const names = namesIn(name, root)
    t.ok(names.length > 3, `${names.length} members`)
    for (const { path, body } of names) {
      const reason = NO_CONTENT.find(([pattern]) => pattern.test(path))
      if (reason) used.add(reason[0])
      else t.ok(mediaReferencesIn(body as never), `${path} ${JSON.stringify(body)}`)
    }
  })
t.test('content by name: each exception occurs', async t => {
  for (const [pattern, reason] of NO_CONTENT) t.ok(used.has(pattern), `${pattern} ${reason}`)
})
