/** The upstreams of a run that the sandbox does not simulate: Gemini's stored objects, and Suno. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { startGeminiStore } from '../../helpers/gateway/gemini-store.ts'

const SONG = { id: 'song-1', audio_url: 'https://files.example/song.mp3', title: 'Cats' }
const TASK = { status: 'SUCCESS', progress: '100%', fail_reason: '', data: [SONG] }

const startSuno = async () => {
  let count = 0
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      const answer = request.method === 'POST' ? `up-${++count}` : TASK
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ code: 'success', message: '', data: answer }))
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, server }
}
export const startProviders = async () => {
  const [gemini, suno] = [await startGeminiStore(), await startSuno()]
  return {
    gemini: gemini.url,
    suno: suno.url,
    stop() {
      gemini.close()
      suno.server.closeAllConnections()
      suno.server.close()
    },
  }
}
