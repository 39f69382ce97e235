/** Requests of generateContent that Google refuses. */
import type { RuleCases } from './rule-cases.ts'

const user = { role: 'user', parts: [{ text: 'hi' }] }
const call = (name = 'f', members: object = { thoughtSignature: 's' }) => ({
  functionCall: { name, args: {} },
  ...members,
})
const response = (name = 'f') => ({ functionResponse: { name, response: { output: 'ok' } } })
const by = (role: string, ...parts: readonly object[]) => ({ role, parts })
const of = (...contents: readonly object[]) => ({ body: { contents } })
const tool = (members: object) => ({ functionDeclarations: [{ name: 'f', ...members }] })
const tools = (...list: readonly object[]) => ({ body: { tools: list } })
const config = (generationConfig: object) => ({ body: { generationConfig } })
const mode = (functionCallingConfig: object) => ({
  body: { toolConfig: { functionCallingConfig } },
})
const OLD = 'gemini-2.5-flash'

export const GEMINI_CASES: RuleCases = {
  model: 'gemini-3-pro',
  good: {
    contents: [
      user,
      by('model', call(), call('f', {})),
      by('user', response(), response()),
      by('model', { text: 'ok' }),
      user,
    ],
    systemInstruction: { parts: [{ text: 'be brief' }] },
    tools: [tool({ parametersJsonSchema: { type: 'object', anyOf: [] } })],
    generationConfig: { thinkingConfig: { thinkingLevel: 'HIGH' }, maxOutputTokens: 100 },
  },
  broken: {
    contents: {
      none: of(),
      empty: of(by('user')),
      'an empty text': of(by('user', { text: '' })),
      role: of({ role: 'system', parts: [{ text: 'a' }] }),
      system: { body: { systemInstruction: { parts: [] } } },
    },
    pairs: {
      count: of(user, by('model', call(), call()), by('user', response())),
      'no responses': of(user, by('model', call()), user),
      names: of(user, by('model', call()), by('user', response('g'))),
      'behind the model': of(
        user,
        by('model', { text: 'a' }),
        by('model', call()),
        by('user', response()),
      ),
      last: of(user, by('model', call())),
    },
    signatures: { none: of(user, by('model', call('f', {})), by('user', response())) },
    'tool-names': {
      digit: tools(tool({ name: '1a' })),
      twice: tools(tool({}), tool({})),
    },
    'tool-schemas': {
      keyword: tools(tool({ parameters: { type: 'OBJECT', additionalProperties: false } })),
      enum: tools(
        tool({
          parameters: { type: 'OBJECT', properties: { a: { type: 'INTEGER', enum: ['1'] } } },
        }),
      ),
      required: tools(tool({ parameters: { type: 'OBJECT', required: ['a'] } })),
      items: tools(tool({ parameters: { type: 'OBJECT', properties: { a: { type: 'ARRAY' } } } })),
      both: tools(
        tool({ parameters: { type: 'OBJECT' }, parametersJsonSchema: { type: 'object' } }),
      ),
      root: tools(tool({ parametersJsonSchema: { anyOf: [] } })),
    },
    'tool-choice': {
      mode: mode({ mode: 'AUTO', allowedFunctionNames: ['f'] }),
      unknown: mode({ mode: 'ANY', allowedFunctionNames: ['g'] }),
      'no functions': {
        body: { tools: [], toolConfig: { functionCallingConfig: { mode: 'ANY' } } },
      },
      empty: tools({ functionDeclarations: [] }),
    },
    combinations: {
      hosted: { model: OLD, ...tools(tool({}), { googleSearch: {} }) },
      'hosted at Gemini 3': tools(tool({}), { googleSearch: {} }),
      json: { model: OLD, ...config({ responseMimeType: 'application/json' }) },
      'no media type': config({ responseJsonSchema: {} }),
      'two schemas': config({
        responseMimeType: 'application/json',
        responseSchema: {},
        responseJsonSchema: {},
      }),
    },
    thinking: {
      both: config({ thinkingConfig: { thinkingLevel: 'HIGH', thinkingBudget: 1 } }),
      level: { model: OLD, ...config({ thinkingConfig: { thinkingLevel: 'HIGH' } }) },
      least: { model: 'gemini-2.5-pro', ...config({ thinkingConfig: { thinkingBudget: 0 } }) },
      most: { model: OLD, ...config({ thinkingConfig: { thinkingBudget: 30_000 } }) },
      none: { model: 'gemini-2.0-flash', ...config({ thinkingConfig: { includeThoughts: true } }) },
    },
    media: {
      gif: of(by('user', { inlineData: { mimeType: 'image/gif', data: 'AA' } })),
      http: of(
        by('user', { fileData: { mimeType: 'image/png', fileUri: 'http://example.com/a' } }),
      ),
      'no data': of(by('user', { inlineData: { mimeType: 'image/png', data: '' } })),
      response: {
        model: OLD,
        ...of(
          user,
          by('model', call()),
          by('user', {
            functionResponse: {
              ...response().functionResponse,
              parts: [{ inlineData: { mimeType: 'image/png', data: 'AA' } }],
            },
          }),
        ),
      },
    },
    settings: {
      stops: config({ stopSequences: ['a', 'b', 'c', 'd', 'e', 'f'] }),
      'an empty stop': config({ stopSequences: [''] }),
      temperature: config({ temperature: 3 }),
      seed: config({ seed: 2 ** 40 }),
      logprobs: config({ logprobs: 5 }),
      candidates: config({ candidateCount: 9 }),
      output: config({ maxOutputTokens: 0 }),
      'top k': config({ topK: 0 }),
    },
    labels: { 'the Gemini API': { body: { labels: { a: 'b' } } } },
  },
}
