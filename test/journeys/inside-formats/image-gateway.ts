/** Starts a gateway with image models in the test's process, and one server for all their
 *  upstreams. */
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { startHttpUpstream } from '../../helpers/gateway/test-server.ts'
import { createUsageRecorder } from '../../helpers/gateway/usage-recorder.ts'

type Body = Readonly<Record<string, unknown>>
interface UpstreamRequest {
  readonly path: string
  readonly type: string
  readonly body: Body
  readonly form: FormData | undefined
}
interface UpstreamAnswer {
  readonly status?: number
  readonly body?: unknown
  readonly events?: string
}
export const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
  'base64',
)
export const DATA_URL = `data:image/png;base64,${PNG.toString('base64')}`
interface ImageUpstream {
  /** Requests that reached the upstreams. */
  readonly requests: UpstreamRequest[]
  /** Replaces the default answer, images by URL. */
  next: ((request: UpstreamRequest) => UpstreamAnswer) | undefined
  /** Number of images that were answered. */
  imageCount: number
  images(count: unknown, more?: object): Body
}
export const imageUpstream: ImageUpstream = {
  requests: [],
  next: undefined,
  imageCount: 0,
  images: (count, more = {}) => ({
    created: 7,
    data: Array.from({ length: Number(count ?? 1) }, () => ({
      url: `https://a.example/${++imageUpstream.imageCount}.png`,
    })),
    ...more,
  }),
}
const url = await startHttpUpstream(t, async (request, response) => {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  const bytes = Buffer.concat(parts)
  const type = String(request.headers['content-type'])
  const form = type.startsWith('multipart/')
    ? await new Response(bytes, { headers: { 'content-type': type } }).formData()
    : undefined
  const body = form ? Object.fromEntries(form) : (JSON.parse(bytes.toString()) as Body)
  const call = { path: request.url ?? '', type, body, form }
  imageUpstream.requests.push(call)
  const answer: UpstreamAnswer = imageUpstream.next?.(call) ?? {
    body: imageUpstream.images(body.n),
  }
  const kind = answer.events === undefined ? 'application/json' : 'text/event-stream'
  response.writeHead(answer.status ?? 200, { 'content-type': kind })
  response.end(answer.events ?? JSON.stringify(answer.body))
})
const schema = (name: string) =>
  fileURLToPath(new URL(`../../../schemas/${name}.json`, import.meta.url))
const usages = createUsageRecorder()
export const gateway = await startGateway({
  inside: true,
  files: { 'plugins/usage-recorder.ts': usages.file },
  routes: `
pipeline: [errors, form, validate, model, usage-recorder, translate]
upstreams:
  gp: { url: '${url}', key: k, formats: [openai-chat, openai-responses] }
  fx: { url: '${url}', key: k, formats: [openai-images] }
  rc: { url: '${url}', key: k, formats: [recraft] }
models:
  gp-4.1: { to: gp/gpt-4.1, free: true }
  gp-4o-image: { to: gp/gpt-image-1, free: true, traits: { formats: [openai-images] } }
  dall-e-3: { to: gp/dall-e-3, free: true, traits: { formats: [openai-images], images: 1, edits: false } }
  flux-1.1-pro: { to: fx/flux-1.1-pro, free: true, traits: { edits: false } }
  one-by-one: { to: fx/one, free: true, traits: { images: 1 } }
  rc-v3: { to: rc/recraftv3, free: true }
routes:
  - { path: POST /v1/chat/completions, model: body, translate: openai-chat, errors: openai }
  - { path: POST /v1/responses, model: body, translate: openai-responses, errors: openai }
  - { path: POST /v1/messages, model: body, translate: anthropic-messages, errors: anthropic }
  - { path: 'POST /v1beta/models/{model}:generateContent', model: { path: model }, translate: google-gemini, errors: google }
  - { path: POST /v1/images/generations, validate: '${schema('images-generations')}', model: body, translate: openai-images, errors: openai }
  - path: POST /v1/images/edits
    form: { files: [image, mask], numbers: [n], flags: [stream] }
    validate: '${schema('images-edits')}'
    model: body
    translate: openai-images
    errors: openai
`,
})
t.teardown(() => gateway.stop())
t.beforeEach(() => {
  imageUpstream.requests.length = 0
  usages.clear()
  imageUpstream.next = undefined
  imageUpstream.imageCount = 0
})

export const nextUsage = usages.next
/** Returns the error that the user of an SDK catches. */
export const errorOf = (call: Promise<unknown>): Promise<object> =>
  call.then(
    () => ({ accepted: true }),
    error => error as object,
  )
