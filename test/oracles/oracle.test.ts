/** The oracles: each rule finds a request that breaks it, and a correct conversation passes. */
import t from 'tap'
import type { LooseObject } from '../helpers/formats/loose-json.ts'
import { familyOf } from './families.ts'
import { judge, judgeByPath, RULES } from './index.ts'
import { judgeProvider, PROVIDERS, type ProviderFacts } from './providers.ts'
import { MESSAGES_CASES } from './rule-cases/anthropic-messages.ts'
import { CONVERSE_CASES } from './rule-cases/bedrock-converse.ts'
import { GEMINI_CASES } from './rule-cases/google-gemini.ts'
import { INTERACTIONS_CASES } from './rule-cases/google-interactions.ts'
import { CHAT_CASES } from './rule-cases/openai-chat.ts'
import { RESPONSES_CASES } from './rule-cases/openai-responses.ts'
import type { RuleCases } from './rule-cases/rule-cases.ts'

const CASES: Readonly<Record<string, RuleCases>> = {
  'openai-chat': CHAT_CASES,
  'openai-responses': RESPONSES_CASES,
  'anthropic-messages': MESSAGES_CASES,
  'google-gemini': GEMINI_CASES,
  'google-interactions': INTERACTIONS_CASES,
  'bedrock-converse': CONVERSE_CASES,
}

for (const [format, { model, good, broken }] of Object.entries(CASES)) {
  t.test(`${format}: a correct conversation with tools passes`, t => {
    t.same(judge(format, familyOf(model), good), [])
    t.end()
  })
  t.test(`${format}: a body of another shape breaks the types`, t => {
    const [finding] = judge(format, familyOf(model), { ...good, [Object.keys(good)[0] ?? '']: 7 })
    t.equal(finding?.rule, 'types')
    t.end()
  })
  t.test(`${format}: each rule finds what breaks it`, t => {
    t.same(Object.keys(broken).sort(), Object.keys(RULES[format] ?? {}).sort(), 'all rules')
    for (const [rule, cases] of Object.entries(broken))
      for (const [title, { body, headers, model: other = model, path }] of Object.entries(cases)) {
        const findings = judge(format, familyOf(other), { ...good, ...body }, headers, path)
        t.ok(
          findings.some(each => each.rule === rule),
          `${rule}: ${title}`,
          { findings },
        )
      }
    t.end()
  })
}
/** By fact of a provider: a request that breaks it. */
const user = (...content: readonly object[]) => ({ messages: [{ role: 'user', content }] })
const BREAKS: Readonly<Record<keyof Omit<ProviderFacts, 'source'>, LooseObject>> = {
  members: { unheard_of: 1 },
  refused: { presence_penalty: 1, user: 'u', store: true },
  messageMembers: { messages: [{ role: 'user', content: 'hi', unheard_of: 1 }] },
  roles: { messages: [{ role: 'developer', content: 'hi' }] },
  parts: user({ type: 'file' }),
  forms: { response_format: { type: 'json_schema' } },
  choices: { tool_choice: 'required' },
  efforts: { reasoning_effort: 'low' },
  inlineImages: user({ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }),
}
t.test('providers: each fact refuses what breaks it, and nothing else', t => {
  for (const [preset, { source: _, ...facts }] of Object.entries(PROVIDERS)) {
    t.same(judgeProvider(preset, user({ type: 'text', text: 'hi' })), [], preset)
    for (const fact of Object.keys(facts) as (keyof typeof facts)[])
      t.not(judgeProvider(preset, BREAKS[fact]).length, 0, `${preset}: ${fact}`)
  }
  t.same(judgeProvider('openai', BREAKS.roles), [])
  t.end()
})
t.test('requests by path: the format and the model are those of the path', t => {
  const body = { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] }
  const thinkingConfig = { thinkingLevel: 'HIGH' }
  const path = '/v1beta/models/gemini-2.5-pro:generateContent?alt=sse'
  t.same(judgeByPath(path, body, {}), [])
  const findings = judgeByPath(path, { ...body, generationConfig: { thinkingConfig } }, {})
  t.match(findings, [{ rule: 'thinking' }])
  t.same(judgeByPath('/v1/embeddings', {}, {}), [])
  t.throws(() => judge('none', familyOf('m'), {}), /no oracle/)
  t.end()
})
