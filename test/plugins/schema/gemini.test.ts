/** The shipped schema of generateContent: validation faults, and accepted bodies. */
import t from 'tap'
import type { Json } from '../../../engine/plugin.ts'
import { fileValidator } from '../../../plugins/schema/compile.ts'
import { recordings } from '../../helpers/formats/recordings.ts'
import { fakeHost } from '../../helpers/gateway/fake-exchange.ts'

const validator = fileValidator('schemas/generate-content.json', fakeHost())
const gemini = (more: { readonly [key: string]: Json }): Json => ({
  contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
  ...more,
})

type Row = readonly [body: Json, code: string, param: string, words: RegExp]
const TABLE: readonly Row[] = [
  [{ contents: { role: 'user' } }, 'INVALID_VALUE', 'contents', /each with its parts/],
  [{ contents: { parts: { text: 7 } } }, 'INVALID_VALUE', 'contents', /parts/],
  [gemini({ tools: 7 }), 'INVALID_TYPE', 'tools', /an array/],
  [{ contents: [] }, 'INVALID_SIZE', 'contents', /at least one content/],
  [gemini({ generationConfig: 7 }), 'INVALID_TYPE', 'generationConfig', /an object/],
  [
    gemini({ generation_config: { max_output_tokens: 0 } }),
    'OUT_OF_RANGE',
    'generation_config.max_output_tokens',
    />= 1/,
  ],
  [
    gemini({ generationConfig: { thinkingConfig: { thinkingBudget: 1, thinkingLevel: 'LOW' } } }),
    'INVALID_VALUE',
    'generationConfig.thinkingConfig',
    /exclude each other/,
  ],
  [
    gemini({ toolConfig: { functionCallingConfig: { mode: 'SOME' } } }),
    'INVALID_VALUE',
    'toolConfig.functionCallingConfig.mode',
    /'SOME'. Supported values are: 'MODE_UNSPECIFIED', 'AUTO'/,
  ],
  [
    gemini({ tools: [{ function_declarations: [{ description: 'x' }] }] }),
    'REQUIRED_PARAMETER',
    'tools[0].function_declarations[0].name',
    /name/,
  ],
  [
    { contents: [{ parts: [{ inlineData: { mimeType: 'image/png' } }] }] },
    'REQUIRED_PARAMETER',
    'contents[0].parts[0].inlineData.data',
    /data/,
  ],
  [
    gemini({ safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT' }] }),
    'REQUIRED_PARAMETER',
    'safetySettings[0].threshold',
    /threshold/,
  ],
]
for (const [body, code, param, words] of TABLE)
  t.test(`Gemini schema: names the invalid field ${param}`, t => {
    t.match(validator.validate(body), { status: 400, code, param, message: words })
    t.end()
  })

t.test('Gemini schema: accepts client requests and unknown fields', t => {
  for (const body of [
    gemini({ systemInstruction: 'be brief' }),
    gemini({ system_instruction: { parts: { text: 'x' } }, tools: null, new_field: [1] }),
    gemini({ generationConfig: { thinkingConfig: null } }),
    gemini({ generationConfig: { thinkingConfig: { thinkingLevel: 'HIGH' }, fresh: {} } }),
    gemini({ tools: [{ googleMaps: {} }, { function_declarations: [{ name: 'f' }] }] }),
  ])
    t.equal(validator.validate(body), undefined, JSON.stringify(body))
  for (const { id, format, request } of recordings() ?? [])
    if (format.startsWith('gemini') && request)
      t.equal(validator.validate(request as Json), undefined, id)
  t.end()
})

t.test('Gemini schema: takes an object in place of a list of one, as Google does', t => {
  const body = {
    contents: { role: 'user', parts: { text: 'hi' } },
    tools: { functionDeclarations: { name: 'w' } },
    safetySettings: { category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' },
    toolConfig: { functionCallingConfig: { mode: 'validated' } },
  }
  t.equal(validator.validate(body), undefined)
  t.end()
})
