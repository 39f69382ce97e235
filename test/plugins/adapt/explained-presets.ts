/** Explains one request to every shipped preset: what would be sent. */
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { readOnlyDatabase } from '../../../engine/cli/databases.ts'
import { withLoadedConfig } from '../../../engine/cli/load-for-command.ts'
import { explain } from '../../../engine/config/explain.ts'
import type { Headers } from '../../../engine/plugin.ts'
import { usedFolder } from '../../helpers/cache.ts'
import { recordingTerminal } from '../../helpers/gateway/command-line.ts'

const ROOT = join(import.meta.dirname, '../../..')
export const PRESETS: Readonly<
  Record<
    string,
    { readonly formats: readonly string[]; readonly needs?: object; readonly paths?: object }
  >
> = parse(readFileSync(join(ROOT, 'program/config/presets.yaml'), 'utf8')).presets

const OPENAI_MESSAGES = [{ role: 'user', content: 'hi' }]
/** By format: path, and members of the body beside the model. */
const REQUESTS: Readonly<Record<string, readonly [path: string, body: object]>> = {
  'openai-chat': [
    '/v1/chat/completions',
    {
      messages: OPENAI_MESSAGES,
      max_completion_tokens: 7,
      stream: true,
      stream_options: { include_usage: true },
      store: false,
      seed: 3,
      user: 'ann',
      logit_bias: { 5: 1 },
      frequency_penalty: 0.5,
    },
  ],
  'openai-responses': ['/v1/responses', { input: 'hi', store: false }],
  'anthropic-messages': ['/v1/messages', { max_tokens: 7, messages: OPENAI_MESSAGES }],
  'google-gemini': [
    '/v1beta/models/MODEL:streamGenerateContent?alt=sse',
    { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
  ],
  'openai-embeddings': ['/v1/embeddings', { input: 'hi' }],
  'openai-images': ['/v1/images/generations', { prompt: 'a cat' }],
  'openai-moderations': ['/v1/moderations', { input: 'hi' }],
  'cohere-rerank': ['/v1/rerank', { query: 'q', documents: ['a'], top_n: 1 }],
  'openai-speech': ['/v1/audio/speech', { input: 'hi', voice: 'alloy' }],
}
/** Formats of targets only -> the format of the client. */
const CLIENTS: Readonly<Record<string, string>> = { 'bedrock-converse': 'openai-chat' }
const requestFor = (format: string) => REQUESTS[CLIENTS[format] ?? format]
/** Formats beside those of conversations that a preset needs no path for. */
const USUAL_PATHS: Readonly<Record<string, readonly string[]>> = {
  openai: ['openai-embeddings', 'openai-moderations'],
  cohere: ['cohere-rerank'],
  siliconflow: ['cohere-rerank'],
}
/** Headers of every request. */
const USUAL = ['x-request-id', 'traceparent', 'content-type']

export interface SentRequest {
  readonly url: string
  readonly headers: Headers
  readonly body: string
}

/** By `PRESET FORMAT`. `folder`: for the configuration. `auth`: of presets, in place of a key. */
export const explainPresets = async (
  folder: string,
  auth: Readonly<Record<string, object>> = {},
): Promise<Readonly<Record<string, SentRequest>>> => {
  const cases = Object.entries(PRESETS).flatMap(([preset, { formats, paths = {} }]) =>
    [...new Set([...formats, ...Object.keys(paths), ...(USUAL_PATHS[preset] ?? [])])]
      .filter(format => requestFor(format) !== undefined)
      .map(format => ({ preset, format, model: `${preset}-${format}` })),
  )
  const config = join(folder, 'routes.yaml')
  writeFileSync(config, configText(cases, auth, usedFolder(join(folder, 'data'))))
  copyFileSync(join(ROOT, 'program/config/presets.yaml'), join(folder, 'presets.yaml'))
  const terminal = recordingTerminal({})
  return withLoadedConfig(config, terminal, readOnlyDatabase, async ({ snapshot, resources }) => {
    const requests: Record<string, SentRequest> = {}
    for (const { preset, format, model } of cases) {
      const [path, members] = requestFor(format) ?? ['', {}]
      const { request } = await explain(snapshot, resources.database, {
        method: 'POST',
        target: path.replace('MODEL', model),
        headers: { host: 'localhost', 'content-type': 'application/json' },
        body: Buffer.from(JSON.stringify(path.includes('MODEL') ? members : { model, ...members })),
      })
      const { url = '', headers = {}, body = '' } = request ?? {}
      const ownHeaders = Object.entries(headers).filter(([name]) => !USUAL.includes(name))
      requests[`${preset} ${format}`] = { url, headers: Object.fromEntries(ownHeaders), body }
    }
    return requests
  })
}

interface Case {
  readonly preset: string
  readonly format: string
  readonly model: string
}
const configText = (
  cases: readonly Case[],
  auth: Readonly<Record<string, object>>,
  data: string,
): string => {
  const upstreams = Object.fromEntries(
    Object.entries(PRESETS).map(([preset, { needs = {} }]) => [
      preset,
      {
        preset,
        ...(auth[preset] ? { auth: auth[preset] } : { key: 'sk-secret' }),
        ...Object.fromEntries(Object.keys(needs).map(key => [key, `my-${key}`])),
      },
    ]),
  )
  const models = Object.fromEntries(
    cases.map(({ preset, format, model }) => [
      model,
      { to: `${preset}/up-model`, traits: { formats: [format] } },
    ]),
  )
  const routes = Object.entries(REQUESTS).map(([format, [path]]) => ({
    path: `POST ${path.replace('MODEL', '{model}').replace(/\?.*/, '')}`,
    name: format,
    model: path.includes('MODEL') ? { path: 'model' } : 'body',
    [format === 'openai-embeddings' ? 'embed' : 'translate']:
      format === 'openai-embeddings' ? 'openai' : format,
  }))
  return JSON.stringify({
    settings: { plugins: [join(ROOT, 'plugins')], data },
    include: ['presets.yaml'],
    pipeline: ['errors', 'model', 'translate', 'embed', 'sandbox', 'adapt'],
    upstreams,
    models,
    routes,
  })
}
