/** Shared parts of the tests of agents and frameworks: targets, routes and the task. */
import { FILE } from './tool-loop-upstream.ts'

export const TARGETS = ['openai-chat', 'openai-responses', 'anthropic-messages', 'google-gemini']
export const PROMPT = `Read the file ${FILE} with a shell command and tell me the word in it.`
/** All formats of agents, with one upstream. */
export const routesTo = (url: string, format: string): string => `
pipeline: [errors, auth, model, responses, meter, translate, count]
upstreams: { up: { url: '${url}', key: k, formats: [${format}] } }
models:
  '{name:.+}': { to: up/model, free: true }
routes:
  - { path: POST /v1/chat/completions, model: body, translate: openai-chat, errors: openai }
  - { path: POST /v1/responses, name: responses, model: body, responses: create, translate: openai-responses, errors: openai }
  - { path: WS /v1/responses, name: socket, responses: socket, errors: openai }
  - { path: POST /v1/messages, model: body, translate: anthropic-messages, errors: anthropic }
  - { path: POST /v1/messages/count_tokens, model: body, meter: { free: true }, count: anthropic-messages, errors: anthropic }
  - { path: 'POST /v1beta/models/{model}:generateContent', model: { path: model }, translate: google-gemini, errors: google }
  - { path: 'POST /v1beta/models/{model}:streamGenerateContent', model: { path: model }, translate: google-gemini, errors: google }
  - { path: 'POST /v1beta/models/{model}:countTokens', model: { path: model }, meter: { free: true }, count: google-gemini, errors: google }
`
