/** Upstreams with the task shapes of Kling, Runway, Luma, Suno and Veo, by YAML alone, for clients
 *  of /v1/videos: create, poll, result, failure and price. The YAML is that of docs/tasks.md. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import type { Json } from '../../../engine/plugin.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { KEY, startTasks } from './task-gateway.ts'

const page = readFileSync(new URL('../../../docs/tasks.md', import.meta.url), 'utf8')
const [, block = ''] = /```yaml\n# Task shapes\n([\s\S]*?)```/.exec(page) ?? []
const { routes: shapes } = parse(block) as {
  readonly routes: readonly { readonly name: string; readonly task: { readonly poll: object } }[]
}
const URL_OF_CLIP = 'https://files.example/clip.mp4'

interface Provider {
  readonly create: Json
  readonly submit: string
  /** The body of the submit, if it is not flat. */
  readonly body?: Json
  readonly poll: string
  readonly success: Json
  /** The upstream finished, and made nothing. */
  readonly empty: Json
  /** A success of two seconds, of an upstream that reports them. */
  readonly short?: Json
  readonly failure: Json
}
const kling = (members: object) => ({ code: 0, data: { task_id: 'up-1', ...members } }) as Json
const suno = (members: object) =>
  ({ code: 'success', data: { task_id: 'up-1', ...members } }) as Json
const veo = (members: object) => ({ name: 'models/viduclip/operations/up-1', ...members }) as Json
/** As the documentation says: the seconds as a number. */
const CLIP = {
  to: 'vd/viduclip',
  price: { seconds: 0.025 },
  max_calls: { seconds: 16 },
  defaults: { '*': { duration: { by: 'seconds', value: { 4: 4, 6: 6, default: 8 } } } },
}
const PROVIDERS: Readonly<Record<string, Provider>> = {
  kling: {
    submit: '/v1/videos/text2video',
    create: kling({ task_status: 'submitted' }),
    poll: '/v1/videos/text2video/up-1',
    success: kling({
      task_status: 'succeed',
      task_result: { videos: [{ video: { url: URL_OF_CLIP }, thumbnail_url: '' }] },
    }),
    empty: kling({ task_status: 'succeed', task_result: { videos: [{ id: 'x', url: '' }] } }),
    short: kling({
      task_status: 'succeed',
      task_result: { videos: [{ url: URL_OF_CLIP, duration: '2.0' }] },
    }),
    failure: kling({ task_status: 'failed', task_status_msg: 'no people' }),
  },
  runway: {
    submit: '/v1/text_to_video',
    create: { id: 'up-1' },
    poll: '/v1/tasks/up-1',
    success: { id: 'up-1', status: 'SUCCEEDED', output: [URL_OF_CLIP] },
    empty: { id: 'up-1', status: 'SUCCEEDED', output: [] },
    failure: { id: 'up-1', status: 'FAILED', failure: 'no people', failureCode: 'SAFETY' },
  },
  luma: {
    submit: '/dream-machine/v1/generations',
    create: { id: 'up-1', state: 'queued' },
    poll: '/dream-machine/v1/generations/up-1',
    success: { id: 'up-1', state: 'completed', assets: { video: URL_OF_CLIP } },
    empty: { id: 'up-1', state: 'completed', assets: { video: null } },
    failure: { id: 'up-1', state: 'failed', failure_reason: 'no people' },
  },
  suno: {
    submit: '/suno/submit/music',
    create: { code: 'success', message: '', data: 'up-1' },
    poll: '/suno/fetch/up-1',
    success: suno({ status: 'SUCCESS', progress: '100%', data: [{ audio_url: URL_OF_CLIP }] }),
    empty: suno({ status: 'SUCCESS', data: [{ id: 'x', status: 'SUCCESS', audio_url: '' }] }),
    failure: suno({ status: 'FAILURE', fail_reason: 'no people' }),
  },
  veo: {
    submit: '/v1beta/models/viduclip:predictLongRunning',
    body: { instances: [{ prompt: 'a cat' }], parameters: { durationSeconds: 4 } },
    create: veo({}),
    poll: '/v1beta/models/viduclip/operations/up-1',
    success: veo({
      done: true,
      response: { generateVideoResponse: { generatedSamples: [{ video: { uri: URL_OF_CLIP } }] } },
    }),
    empty: veo({ done: true, response: { generateVideoResponse: { raiMediaFilteredCount: 1 } } }),
    failure: veo({
      done: true,
      error: { code: 3, status: 'INVALID_ARGUMENT', message: 'no people' },
    }),
  },
}

for (const [name, provider] of Object.entries(PROVIDERS))
  t.test(`task shape of ${name}: create, poll, result, failure and price`, async t => {
    const { poll, ...rule } = shapes.find(each => each.name === name)?.task ?? { poll: {} }
    const create = { ...rule, upstreams: ['vd'], poll: { ...poll, every: '20ms..40ms' } }
    const routes = [
      { path: 'POST /v1/videos', model: 'body', task: create, errors: 'openai' },
      {
        path: 'GET /v1/videos/{id}',
        task: { dialect: 'openai-videos', view: 'query' },
        errors: 'openai',
      },
    ]
    const gateway = await startTasks(t, 'sqlite', {}, {}, routes, { clip: CLIP })
    let answer = provider.success
    gateway.here.script = ({ method }) => ({ json: method === 'POST' ? provider.create : answer })
    const call = async (method: string, path: string, body?: object) => {
      const response = await fetch(gateway.gatewayUrl + path, {
        method,
        headers: {
          'content-type': 'application/json',
          account: '1',
          authorization: `Bearer ${KEY}`,
        },
        ...(body && { body: JSON.stringify(body) }),
      })
      return (await response.json()) as { readonly [name: string]: Json }
    }
    const run = async (members: object = { seconds: '4' }) => {
      const { id } = await call('POST', '/v1/videos', {
        model: 'clip',
        prompt: 'a cat',
        ...members,
      })
      return eventually(async () => {
        const video = await call('GET', `/v1/videos/${id}`)
        return ['completed', 'failed'].includes(String(video.status)) ? video : undefined
      })
    }
    // Suno gets no seconds: the longest clip is charged.
    const price = name === 'suno' ? 400_000_000n : 100_000_000n
    t.match(await run(), { status: 'completed', progress: 100, error: null })
    t.equal(await gateway.spent(), price, 'seconds at 0.025: four, or the longest')
    const [row] = await gateway.rows('SELECT results FROM tasks')
    t.match(String(row?.results), URL_OF_CLIP)
    answer = provider.failure
    t.match(await run(), { status: 'failed', error: { message: /no people/ } })
    t.equal(await gateway.spent(), price, 'a failure costs nothing')
    answer = provider.empty
    t.match(await run(), { status: 'failed' }, 'a success without a result')
    t.equal(await gateway.spent(), price, 'it costs nothing')
    if (provider.short !== undefined) {
      answer = provider.short
      t.match(await run(), { status: 'completed' })
      t.equal(await gateway.spent(), 150_000_000n, 'two seconds of the four')
    }
    if (['runway', 'luma'].includes(name)) {
      answer = provider.success
      const before = await gateway.spent()
      const segments = { duration: 0.001, image_settings: [{ duration: 0.001 }] }
      t.match(await run({ seconds: '4', ...segments }), { status: 'completed' })
      t.equal((await gateway.spent()) - before, 100_000_000n, 'only `seconds` is sent')
      for (const members of [{ image_settings: [] }, segments, { seconds: '0.001' }]) {
        const earlier = await gateway.spent()
        t.match(await run(members), { status: 'completed' })
        const charged = (await gateway.spent()) - earlier
        t.equal(charged, 400_000_000n, `the provider chooses: ${JSON.stringify(members)}`)
      }
    }
    const [submit, ...polls] = gateway.requests
    t.equal(submit?.path, provider.submit)
    t.match(polls[0], { method: 'GET', path: provider.poll })
    if (provider.body !== undefined) t.same(submit?.body, provider.body)
    t.match(JSON.stringify(submit?.body), '"a cat"')
    t.same(await gateway.findings(), [])
  })
