/* layer_list.h - models that are a list of layers (CNNs, MLPs, recommendation models): counts, kernels and what the
 * backward pass keeps.
 *
 * A convolution is an implicit GEMM (Chetlur et al. 2014, cuDNN, arXiv:1410.0759, section 3). For a batch of b samples,
 * g groups, C input and K output channels, r x s kernels and P output pixels it is
 *   forward          M = b P, N = K / g, K = r s C / g            g products
 *   input gradient   M = b P stride^2, N = C / g, K = r s K / g / stride^2 (1 x 1: b P, C / g, K / g)
 *   weight gradient  M = K / g, N = r s C / g, K = b P
 *
 * Each has 2 b P r s C K / g FLOPs, and moves each tensor once. Narrow groups share a product, and where each channel
 * is a group (depthwise) the vector units do the work (cost/compute.h).
 *
 * Libraries do two more things. In fp32, 3 x 3 kernels of stride 1 are Winograd's F(2 x 2, 3 x 3): 16 products over a
 * quarter of the pixels, so 4 / 9 of the FLOPs (Lavin and Gray 2015, arXiv:1509.09308; cost/compute.h has its rate).
 * Depthwise convolutions do not use it, because the transforms would cost more than they save. In tf32, images lie
 * channels first as in fp32, and matrix units want channels last: input and output of all but depthwise convolutions
 * are each read and written once more (NVIDIA, "Convolutional Layers User's Guide", on tensor layouts). Half precision
 * trains channels last.
 *
 * Batch normalization, activation, addition and pooling move memory. Forward, elements of e bytes take 3 e each
 * (statistics, then normalize), 2 e, 3 e, and input and output; backward 5 e, 3 e and 3 e. Products of channels with
 * their factors (squeeze and excitation) take 2 e forward and 4 e backward. Any fusion but `none` makes one pass of a
 * norm and the activation behind it, and one of an addition and its activation.
 *
 * Norms may also be fused into convolutions (software.batch_norm). The convolution before a norm then writes the sums
 * that the norm needs, and a small kernel makes two factors a channel of them. The addition at a block's end normalizes
 * what it adds: one operand with `sums-fused`, where all other norms take 2 e, or both with `fused`, where also each
 * convolution normalizes what it reads. Backward, the convolution that makes an input's gradient also masks and sums
 * it. For that it reads the norm's input and, of a sum, the other branch's gradient; 3 e apply the result (cuDNN's
 * DgradDreluBNBwdWeight, and ConvBNwgrad, which makes its operand again from the norm's input, so that only this is
 * kept).
 *
 * A list trains in data-parallel replicas and, by whole blocks, in the stages of a pipeline if it has no branches; its
 * shapes are not divided.
 *
 * A layer may take the results of others than the one before it: one or several (each by itself, with one set of
 * weights), or one beside its input (a U-Net); or add one to its own, enlarged to its pixels (a feature pyramid: Lin et
 * al. 2016, arXiv:1612.03144). Where two layers take one result, their gradients are added, in a pass of 3 e. A norm may
 * be fixed, as detectors have them that begin with a trained backbone: 2 e each way, or a part of the kernel beside it.
 * Frozen layers have no backward pass; their weights are counted with the others. A result that no layer takes is judged
 * by a loss.
 *
 * A transposed convolution from C channels of P pixels to K channels of P stride^2 is the input gradient of the
 * convolution from K to C, and has that one's forward pass as its input gradient (Dumoulin and Visin 2016,
 * arXiv:1603.07285, chapter 4). So it has that convolution's products.
 *
 * A GAN (Goodfellow et al. 2014, arXiv:1406.2661; Radford et al. 2015, arXiv:1511.06434) is a list that generates and a
 * discriminator behind it. A step takes a batch of b images from outside and b generated ones, and updates each network
 * once, in turn:
 *   discriminator   both batches go forward and backward, each by itself (batch norm), without a gradient of the images
 *   generator       the images are generated once, forward and backward; the discriminator judges the same images
 *                   again, with its new weights, and passes on the gradient of the images, not of its weights
 *
 * So a MAC counts 6 FLOPs in the generator, and 2 x 6 + 4 in the discriminator. Memory holds at once what both networks
 * keep of one batch. The gradients of each are reduced once. */
#pragma once

#include "model/operators.h"

double tsim_list_parameters(const struct tsim_model *model); /* without embedding tables */
/* Returns the multiplications with addition (MACs) of one sample's forward pass. */
double tsim_list_macs(const struct tsim_model *model);
/* Returns the model FLOPs of training on a sample: for each MAC 2 forward and 4 backward, without the first layer's
 * input gradient. GANs count as above. */
double tsim_list_flops_per_sample(const struct tsim_model *model);

/* Makes a model of consecutive blocks. */
void tsim_list_part(const struct tsim_model *model, int64_t first_block, int64_t n_blocks, struct tsim_model *part);
