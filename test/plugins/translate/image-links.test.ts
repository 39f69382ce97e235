/** Generated images that cannot be stored. */
import t from 'tap'
import type { Plugin } from '../../../engine/plugin.ts'
import errorsPlugin from '../../../plugins/errors.ts'
import files from '../../../plugins/files/index.ts'
import model from '../../../plugins/model/index.ts'
import translate from '../../../plugins/translate/index.ts'
import { startHttpUpstream, startTestServer } from '../../helpers/gateway/test-server.ts'
import { temporaryFolder } from '../../helpers/store/store.ts'

t.test('image links: an image that cannot be stored is answered as base64', async t => {
  const url = await startHttpUpstream(t, (_, response) =>
    response.end(JSON.stringify({ created: 7, data: [{ b64_json: 'iVBORw0K' }] })),
  )
  const plugins = { errors: errorsPlugin, model, files, translate } as unknown
  const document = {
    // The whole file system would have to be free.
    settings: { data: temporaryFolder(t), files: { free: 100 } },
    upstreams: { fx: { url, formats: ['openai-images'] } },
    models: { flux: { to: 'fx/flux' } },
    routes: [
      { path: 'POST /v1/chat/completions', model: 'body', translate: 'openai-chat' },
      { path: 'GET /files/{name}', files: 'signed' },
    ],
  } as unknown as Parameters<typeof startTestServer>[2]
  const warnings: string[] = []
  const log = {
    debug() {},
    info() {},
    error() {},
    warn: (_: object, text = '') => void warnings.push(text),
  }
  const gateway = await startTestServer(t, plugins as Record<string, Plugin>, document, log)
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ model: 'flux', messages: [{ role: 'user', content: 'a cat' }] }),
  })
  t.match(await response.json(), {
    choices: [{ message: { content: '![image](data:image/png;base64,iVBORw0K)' } }],
  })
  t.same(warnings, ['a generated image could not be stored: sent as base64'])
})
