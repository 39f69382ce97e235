/** The shipped gateway in front of one scripted upstream, shared by all tests of this folder. */
import t from 'tap'
import { openDatabase } from '../../../engine/store/database.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { bearer, postTo } from '../../helpers/gateway/post.ts'
import { startUpstream } from '../../helpers/gateway/upstream.ts'
import { creditAdmin } from '../../helpers/money/credit.ts'

export const upstream = await startUpstream()
export const gateway = await startGateway({
  env: {
    EGRESS_ALLOW: '127.0.0.0/8', // where results of tasks are
    OPENAI_BASE_URL: `${upstream.url}/s/gp/v1`,
    OPENAI_API_KEY: 'operators-openai-key',
    ANTHROPIC_BASE_URL: `${upstream.url}/s/cl`,
    ANTHROPIC_API_KEY: 'operators-anthropic-key',
    GEMINI_BASE_URL: `${upstream.url}/s/gx`,
    GEMINI_API_KEY: 'operators-google-key',
    FLUX_BASE_URL: `${upstream.url}/s/fx`,
    FLUX_API_KEY: 'operators-flux-key',
    RECRAFT_BASE_URL: `${upstream.url}/s/rc`,
    RECRAFT_API_KEY: 'operators-recraft-key',
    VIDU_BASE_URL: `${upstream.url}/s/vd`,
    VIDU_API_KEY: 'operators-vidu-key',
    MIDJOURNEY_BASE_URL: `${upstream.url}/s/mj`,
    MIDJOURNEY_API_KEY: 'operators-midjourney-key',
    COHERE_BASE_URL: `${upstream.url}/s/rr`,
    COHERE_API_KEY: 'operators-cohere-key',
    EMBEDDING_BASE_URL: `${upstream.url}/s/em`,
    EMBEDDING_API_KEY: 'operators-embedding-key',
  },
})
export const key = await gateway.key()
await creditAdmin(gateway.data)
export const database = await openDatabase({ url: 'sqlite:', data: gateway.data })
t.teardown(async () => {
  await database.close()
  await Promise.all([gateway.stop(), upstream.stop()])
})
t.beforeEach(() => upstream.forget())

/** Requests that the upstream got in this test, without polls: tasks of earlier tests go on. */
export const sentCalls = async () =>
  (await upstream.events('request')).filter(({ head }) => head.method !== 'GET')

/** Posts with the key of the account. */
export const postWithKey = (path: string, body: unknown, headers: object = {}): Promise<Response> =>
  postTo(gateway.url + path, body, { ...bearer(key), ...headers })
