import { liveChannel, readChannels, readModels } from '@/routing/catalog/store.ts'
import { removeChannel, writeChannel } from '../catalog/catalog-changes.ts'
import { channelRow } from '../catalog/catalog-rows.ts'
import { testChannel } from '../catalog/channel-test.ts'
import type { Console } from '../deployment.ts'
import { invalid, notFound } from '../failure.ts'
import { adminChannelRoutes, type Channel as ChannelRow } from './contract/admin-catalog.ts'
import { actorOf, controller, type Listener } from './controller.ts'

/** Channels. They are checked and written exactly as those of tollgate.yaml are. */
export function adminChannelsApi(console: Console, listener: Listener) {
  return controller('console-admin-channels', console, listener, adminChannelRoutes, {
    'GET /api/admin/channels': async () => ({ items: await channelRows(console) }),
    'GET /api/admin/channels/:name': ({ params }) => channelNamed(console, params.name),
    'POST /api/admin/channels': async ({ body, ...call }) => {
      await writeChannel(console, actorOf(call), body)
      return channelNamed(console, body.name)
    },
    'PUT /api/admin/channels/:name': async ({ params, body: { revision, ...fields }, ...call }) => {
      await writeChannel(console, actorOf(call), { ...fields, name: params.name }, revision)
      return channelNamed(console, params.name)
    },
    'DELETE /api/admin/channels/:name': async ({ params, ...call }) => ({
      ok: true as const,
      models_without_channel: await removeChannel(console, actorOf(call), params.name),
    }),
    'POST /api/admin/channels/:name/test': ({ params, body }) => test(console, params.name, body.model),
  })
}

async function channelRows({ database, secretBox, readings }: Console): Promise<ChannelRow[]> {
  const [channels, models] = await Promise.all([
    readChannels(database.orm, secretBox),
    readModels(database.orm),
  ])
  const health = readings.channels(channels.map(liveChannel))
  return channels.map(channel =>
    channelRow(
      channel,
      health.find(({ channelId }) => channelId === channel.id),
      models.filter(({ routes }) => routes.some(route => route.channel === channel.name)).map(({ id }) => id),
    ),
  )
}

async function channelNamed(console: Console, name: string): Promise<ChannelRow> {
  const row = (await channelRows(console)).find(channel => channel.name === name)
  if (row === undefined) throw notFound('channel')
  return row
}

/** Without a model: with that of a route through the channel. */
async function test(console: Console, name: string, wanted: string | undefined) {
  const { database, secretBox } = console
  const stored = (await readChannels(database.orm, secretBox)).find(channel => channel.name === name)
  if (stored === undefined) throw notFound('channel')
  const routes = (await readModels(database.orm)).flatMap(model => model.routes)
  const model = wanted ?? routes.find(({ channel }) => channel === name)?.upstreamModel
  if (model === undefined) throw invalid('model', 'No model uses this channel: name one of the upstream')
  return { model, items: await testChannel(console, liveChannel(stored), model) }
}
