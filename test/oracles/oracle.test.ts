/** The oracles: each rule finds a request that breaks it, and a correct conversation passes. */
import t from 'tap'
import { familyOf } from './families.ts'
import { judge, judgeByPath, RULES } from './index.ts'
import { MESSAGES_CASES } from './rule-cases/anthropic-messages.ts'
import { CONVERSE_CASES } from './rule-cases/bedrock-converse.ts'
import { GEMINI_CASES } from './rule-cases/google-gemini.ts'
import { CHAT_CASES } from './rule-cases/openai-chat.ts'
import { RESPONSES_CASES } from './rule-cases/openai-responses.ts'
import type { RuleCases } from './rule-cases/rule-cases.ts'

const CASES: Readonly<Record<string, RuleCases>> = {
  'openai-chat': CHAT_CASES,
  'openai-responses': RESPONSES_CASES,
  'anthropic-messages': MESSAGES_CASES,
  'google-gemini': GEMINI_CASES,
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
