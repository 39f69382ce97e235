/** Requests that create a task. */
import { byKey, type Fields, json, type Kind, member, type Preparation } from './kind.ts'

/** One that failed after its answer is free. */
const TASKS =
  "SELECT id, key AS name, CASE WHEN state = 'failed' THEN 1 ELSE 0 END AS free FROM tasks"
const IMAGE = 'https://files.example/a.png'
const CLIP = 'https://files.example/clip.mp4'
const PIXEL = 'data:image/png;base64,AA=='

const task = (name: string, route: string, path: string, idIn: string, body: object): Kind => ({
  name,
  route,
  isBilled: true,
  make: prompt => json(path, { prompt, ...body }),
  rows: TASKS,
  nameOfRow: byKey,
  idIn: member(idIn),
})
/** Bodies of /ent/v2, which have a route each. */
const ENT: Readonly<Record<string, Fields>> = {
  img2video: { model: 'vdq3-turbo', images: [IMAGE], duration: 5 },
  'start-end2video': { model: 'vdq1', images: [IMAGE, IMAGE] },
  reference2video: { model: 'vdq1', images: [IMAGE] },
  reference2image: { model: 'vdq1', images: [IMAGE] },
  text2audio: { model: 'audio1.0' },
  'audio-tts': { text: 'hello', voice_setting_voice_id: 'male-1' },
  timing2audio: {
    model: 'audio1.0',
    duration: 4.5,
    timing_prompts: [{ from: 0, to: 3.5, prompt: 'birds' }],
  },
  extend: { model: 'vdq2-turbo', video_url: CLIP },
  multiframe: {
    model: 'vdq2-pro',
    start_image: IMAGE,
    image_settings: [{ key_image: IMAGE, duration: 5 }, { key_image: IMAGE }],
  },
  'upscale-new': { video_url: CLIP },
  'lip-sync': { video_url: CLIP, text: 'hello', voice_id: 'male-1' },
  'trending-replicate': { video_url: CLIP, images: [IMAGE] },
  template: { template: 'hugging', images: [IMAGE] },
  'template-story': { story: 'one_shot', images: [IMAGE, IMAGE, IMAGE] },
}
/** Requests of the image queue without a parent. */
const IMAGES: Readonly<Record<string, Fields>> = {
  blend: { base64Array: [PIXEL, PIXEL] },
  describe: { base64: PIXEL },
  shorten: {},
}
const mj = (action: string, body: Fields): Kind =>
  task(`mj ${action}`, `mj-${action}`, `/mj/submit/${action}`, 'result', body)
/** The routes of the shipped configuration, and those of docs/tasks.md for clients of new-api. */
export const createTaskKinds = async ({ send }: Preparation): Promise<readonly Kind[]> => {
  const { result: taskId } = await send(json('/mj/submit/imagine', { prompt: 'a cat' }))
  const clip = { model_name: 'clip', duration: '5' }
  return [
    task('ent video', 'text2video', '/ent/v2/text2video', 'task_id', {
      model: 'vdq3-turbo',
      duration: 5,
    }),
    task('videos', 'videos', '/v1/videos', 'id', { model: 'vdq3-turbo', seconds: '5' }),
    task('video generations', 'video-generations', '/v1/video/generations', 'task_id', {
      model: 'clip',
      duration: 5,
    }),
    task('kling text', 'kling-text', '/kling/v1/videos/text2video', 'task_id', clip),
    task('kling image', 'kling-image', '/kling/v1/videos/image2video', 'task_id', {
      ...clip,
      image: IMAGE,
    }),
    task('suno music', 'suno-music', '/suno/submit/music', 'data', { mv: 'chirp-v4' }),
    task('suno lyrics', 'suno-lyrics', '/suno/submit/lyrics', 'data', {}),
    task('mj', 'imagine', '/mj/submit/imagine', 'result', {}),
    {
      name: 'image task',
      route: 'images',
      isBilled: true,
      make: prompt => {
        const { path, init } = json('/v1/images/generations', { model: 'dall-e-3', prompt })
        return { path, init: { ...init, headers: { ...init.headers, prefer: 'respond-async' } } }
      },
      rows: TASKS,
      nameOfRow: byKey,
      idIn: member('id'),
    },
    mj('action', { taskId, customId: 'MJ::JOB::upsample::1::sandbox' }),
    mj('change', { taskId, action: 'UPSCALE', index: 1 }),
    mj('modal', { taskId }),
    ...Object.entries(IMAGES).map(([action, body]) => mj(action, body)),
    ...Object.entries(ENT).map(([path, body]) =>
      task(`ent ${path}`, path, `/ent/v2/${path}`, 'task_id', body),
    ),
  ]
}
